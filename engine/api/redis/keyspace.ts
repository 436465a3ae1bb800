/**
 * Runs commands over all keys of a database: KEYS, SCAN, DBSIZE, RANDOMKEY. They read the whole cluster, like a
 * listing: a key that was written or deleted a moment ago may or may not be included. Every key is included whose write
 * was answered at a quorum before the command began.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString, Token } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';
import { tombstone } from '../../replica/object/content.ts';
import { liveSiblings } from '../../replica/object/object.ts';
import { refuseAnswerBeyond } from './answer-size.ts';
import type { Command } from './commands.ts';
import { compileGlob } from './glob.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { editNeed, keyOf } from './listener-dependencies.ts';
import { mustReadInteger } from './numbers.ts';
import { Refusal, texts } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import { arrayReply, bulkReply, integerReply, nilReply, textReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import { argument } from './value-commands.ts';

/** A key and its token. */
export interface ListedKey {
  readonly name: ByteString;
  readonly token: Token;
}

/** Some listed keys. */
export interface ListedKeys {
  readonly names: readonly ListedKey[];
  /** All keys up to and including this token have been listed. */
  readonly reached: Token;
}

/**
 * Lists the bucket's keys that hold a value, in the order of their tokens, starting at `from`. With `namesMax`, a page
 * has about as many keys, may have none, and nothing is fetched ahead.
 */
export type ListKeys = (from: Token, deadlineUs: number, namesMax?: number) => AsyncIterable<ListedKeys>;

/** SCAN's COUNT if the client gives none, as in Redis. */
const countDefault = 10;

/** Concurrent deletions of `deleteAll`, and the time that it may take. */
const deletionsMax = 64;
const flushTimeoutMs = 10 * 60_000;
/** Pages without a key that SCAN reads before it answers. */
const emptyPagesMax = 16;

/** SCAN's options: MATCH and TYPE as a test of names, and COUNT. */
export interface ScanOptions {
  readonly matches: (name: ByteString) => boolean;
  readonly count: number;
}

/** What the commands over all keys work with. */
export interface KeyspaceDependencies extends Pick<
  RedisDependencies,
  'answerBytesMax' | 'bucket' | 'dispatcher' | 'terms' | 'timeoutMs' | 'type'
> {
  readonly io: Pick<Io, 'clock' | 'random'>;
}

/** The commands over all keys of one database. */
export class Keyspace {
  readonly #parts: KeyspaceDependencies;
  readonly #io: Pick<Io, 'clock' | 'random'>;
  readonly #list: ListKeys;
  /** The most bytes of an answer. */
  readonly #bytesMax: number;

  constructor(parts: KeyspaceDependencies, list: ListKeys) {
    this.#parts = parts;
    this.#io = parts.io;
    this.#list = list;
    this.#bytesMax = parts.answerBytesMax;
  }

  /** Runs a command. Rejects with `Refusal`, or with the `LockstepError` of a listing. */
  async answer(command: Command, request: Request, version: RespVersion): Promise<Buffer> {
    switch (command.name) {
      case 'keys':
        return this.#keys(argument(request, 1));
      case 'scan':
        return this.#scan(request);
      case 'dbsize':
        return integerReply(await this.#count());
      default:
        return this.#any(version);
    }
  }

  async #keys(pattern: Buffer): Promise<Buffer> {
    const matches = compileGlob(pattern);
    // One piece a page: millions of small buffers take many times their bytes.
    const pieces: Buffer[] = [];
    let count = 0;
    let bytes = 0;
    for await (const { names } of this.#pages(firstToken)) {
      const found: Buffer[] = [];
      for (const { name } of names) {
        if (!matches(name)) continue;
        const reply = nameReply(name);
        refuseAnswerBeyond(this.#bytesMax, (bytes += reply.length));
        found.push(reply);
      }
      count += found.length;
      if (found.length > 0) pieces.push(Buffer.concat(found));
    }
    return Buffer.concat([Buffer.from(`*${count}\r\n`), ...pieces]);
  }

  async #count(): Promise<number> {
    let count = 0;
    for await (const { names } of this.#pages(firstToken)) count += names.length;
    return count;
  }

  /**
   * The cursor is the token at which to continue. So it stays valid whatever happens between two calls, on every node.
   * Keys with the same token are returned together, so a call may return more than COUNT. Long names end it sooner, and
   * so do many pages without a key: a call costs what it returns, not what the cluster holds.
   */
  async #scan(request: Request): Promise<Buffer> {
    const from = cursorOf(argument(request, 1));
    const { matches, count } = scanOptions(request);
    const found: Buffer[] = [];
    let seen = 0;
    let bytes = 0;
    let last: Token | undefined;
    let empty = 0;
    // One name more than needed tells where to continue.
    for await (const { names, reached } of this.#pages(from, count + 1)) {
      if (names.length === 0 && ++empty >= emptyPagesMax && reached !== lastToken) {
        return scanReply(reached + 1, found);
      }
      for (const { name, token } of names) {
        // Beyond `count`, continues to the end of the current token.
        if ((seen >= count || bytes >= this.#bytesMax) && token !== last) return scanReply(token, found);
        seen += 1;
        last = token;
        if (!matches(name)) continue;
        bytes += name.length;
        found.push(nameReply(name));
      }
    }
    return scanReply(0, found);
  }

  /**
   * Deletes every key of the database: FLUSHDB for a cluster in which a member may know no epochs of buckets. A deletion
   * is a tombstone that includes what a majority held, so that no replica, hint or repair brings the value back. A key
   * that is written meanwhile may stay. After an error, some keys are deleted and some are not, if `progress` says that
   * it has begun; nothing is deleted any more.
   */
  async deleteAll(progress: { isBegun: boolean }): Promise<void> {
    const deadlineUs = this.#io.clock.nowUs() + flushTimeoutMs * 1000;
    for await (const { names } of this.#list(firstToken, deadlineUs)) {
      let next = 0;
      const deleteOn = async (): Promise<void> => {
        try {
          for (let one = names[next++]; one !== undefined; one = names[next++])
            await this.#delete(one.name, progress);
        } finally {
          // The others stop, too, if this one has failed.
          next = names.length;
        }
      };
      const lanes = Array.from({ length: Math.min(deletionsMax, names.length) }, deleteOn);
      await Promise.allSettled(lanes);
      await Promise.all(lanes);
    }
  }

  async #delete(name: ByteString, progress: { isBegun: boolean }): Promise<void> {
    const { dispatcher, timeoutMs } = this.#parts;
    const key = keyOf(this.#parts, Buffer.from(name, 'latin1'));
    const { object } = await dispatcher.get({ key, need: editNeed(this.#parts), timeoutMs });
    if (object === undefined || liveSiblings(object).length === 0) return;
    try {
      await dispatcher.put({ key, need: 'default', context: object.context, content: tombstone, timeoutMs });
      progress.isBegun = true;
    } catch (error) {
      if (!(error instanceof LockstepError && error.definite)) progress.isBegun = true;
      throw error;
    }
  }

  /** The first key at or after a random token. */
  async #any(version: RespVersion): Promise<Buffer> {
    const from = this.#io.random.u32() as Token;
    for (const start of [from, firstToken]) {
      for await (const { names } of this.#pages(start, 1)) {
        const [first] = names;
        if (first !== undefined) return nameReply(first.name);
      }
    }
    return nilReply(version);
  }

  #pages(from: Token, namesMax?: number): AsyncIterable<ListedKeys> {
    return this.#list(from, this.#io.clock.nowUs() + this.#parts.timeoutMs * 1000, namesMax);
  }
}

const firstToken = 0 as Token;
const lastToken = 0xffffffff as Token;

function nameReply(name: ByteString): Buffer {
  return bulkReply(Buffer.from(name, 'latin1'));
}

function scanReply(cursor: number, found: readonly Buffer[]): Buffer {
  return arrayReply([textReply(String(cursor)), arrayReply(found)]);
}

/** 0 starts a scan; any other number is a token that an earlier call returned. */
function cursorOf(given: Buffer): Token {
  const text = given.toString('latin1');
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) > 0xffffffff) throw new Refusal('ERR invalid cursor');
  return Number(text) as Token;
}

function scanOptions(request: Request): ScanOptions {
  let matches: ScanOptions['matches'] = () => true;
  let count = countDefault;
  for (let at = 2; at < request.length; at += 2) {
    const word = argument(request, at).toString('latin1').toUpperCase();
    if (at + 1 >= request.length) throw new Refusal(texts.syntax);
    const value = argument(request, at + 1);
    if (word === 'MATCH') matches = compileGlob(value);
    else if (word === 'COUNT') count = countOf(value);
    else if (word === 'TYPE') {
      if (value.toString('latin1').toLowerCase() !== 'string') matches = () => false;
    } else throw new Refusal(texts.syntax);
  }
  return { matches, count };
}

function countOf(value: Buffer): number {
  const count = mustReadInteger(value);
  if (count < 1n) throw new Refusal(texts.syntax);
  return Number(count > 1_000_000n ? 1_000_000n : count);
}
