/**
 * The library `redis` of scripts: commands and their replies as values, errors, hashes.
 *
 * Source: the Redis Lua API reference, in the form of redis-server 7.0.
 */
import { createHash } from 'node:crypto';
import type { Arguments } from './arguments.ts';
import { refuseAnswerBeyond } from '../answer-size.ts';
import { libraryOf } from './arguments.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaTable, formatShortest, isTrue, tableOf } from './values.ts';

/** Runs one command of a script and returns its reply in RESP2. */
export type ScriptCall = (request: readonly Buffer[]) => Buffer;

/** The library `redis`. `log` gets the texts of `redis.log`. */
export function redisLibrary(meter: Meter, call: ScriptCall, log: (text: string) => void): LuaTable {
  /** The reply of the command, or the table of its error. */
  const run = (args: Arguments): LuaValue => {
    const refuse = (text: string): LuaValue => fieldOf(meter, 'err', `ERR ${text}`);
    if (args.count === 0) return refuse('Please specify at least one argument for this redis lib call');
    const request: Buffer[] = [];
    for (const value of args.from(1)) {
      const given = commandArgument(value);
      if (given === undefined) return refuse('Lua redis lib command arguments must be strings or integers');
      request.push(given);
      meter.allocate(given.length);
    }
    meter.step(commandSteps);
    return valueOf(meter, call(request));
  };
  return libraryOf(
    meter,
    {
      call: (args) => {
        const value = run(args);
        const error = value instanceof LuaTable ? value.get('err') : undefined;
        if (value instanceof LuaTable && typeof error === 'string') throw new LibraryError(error, value);
        return [value];
      },
      pcall: (args) => [run(args)],
      error_reply: (args) => [fieldOf(meter, 'err', withCode(args.text(1).replace(/^-/, '')))],
      status_reply: (args) => [fieldOf(meter, 'ok', args.text(1))],
      sha1hex: (args) => {
        const text = args.text(1, '');
        meter.allocate(text.length);
        meter.step(text.length >>> 4);
        return [createHash('sha1').update(Buffer.from(text, 'latin1')).digest('hex')];
      },
      log: (args) => {
        meter.step(commandSteps);
        const texts = args.from(2).map((_, at) => args.text(at + 2).slice(0, loggedCharsMax));
        log(texts.join(' ').slice(0, loggedCharsMax));
        return [];
      },
      setresp: (args) => {
        if (args.integer(1) !== 2) throw new LibraryError('RESP version must be 2.');
        return [];
      },
      set_repl: () => [],
      replicate_commands: () => [true],
    },
    {
      ...{ LOG_DEBUG: 0, LOG_VERBOSE: 1, LOG_NOTICE: 2, LOG_WARNING: 3 },
      ...{ REPL_ALL: 3, REPL_AOF: 1, REPL_SLAVE: 2, REPL_REPLICA: 2, REPL_NONE: 0 },
      ...{ REDIS_VERSION: '7.0.15', REDIS_VERSION_NUM: 0x0007000f },
    },
  );
}

/** The most of one line of the log, as in Redis. */
const loggedCharsMax = 1024;
/** A command costs as many steps as a short loop. */
const commandSteps = 100;

function commandArgument(value: LuaValue): Buffer | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'latin1');
  return typeof value === 'number' ? Buffer.from(formatShortest(value, 17)) : undefined;
}

function fieldOf(meter: Meter, name: string, text: string): LuaTable {
  const table = new LuaTable(meter);
  table.set(name, text);
  return table;
}

function withCode(text: string): string {
  return text.includes(' ') ? text : `ERR ${text}`;
}

/** A reply as a value: nil is false, a status and an error are tables. */
function valueOf(meter: Meter, reply: Buffer): LuaValue {
  return new ReplyValues(meter, reply).next();
}

class ReplyValues {
  readonly #meter: Meter;
  readonly #reply: Buffer;
  #at = 0;

  constructor(meter: Meter, reply: Buffer) {
    this.#meter = meter;
    this.#reply = reply;
  }

  next(): LuaValue {
    const end = this.#reply.indexOf('\r\n', this.#at, 'latin1');
    const text = this.#reply.toString('latin1', this.#at + 1, end);
    const kind = this.#reply[this.#at];
    this.#at = end + 2;
    switch (kind) {
      case 0x2b:
        return fieldOf(this.#meter, 'ok', text);
      case 0x2d:
        return fieldOf(this.#meter, 'err', text);
      case 0x3a:
        return Number(text);
      case 0x24: {
        const length = Number(text);
        if (length < 0) return false;
        this.#meter.allocate(length);
        const value = this.#reply.toString('latin1', this.#at, this.#at + length);
        this.#at += length + 2;
        return value;
      }
      default: {
        const count = Number(text);
        return count < 0
          ? false
          : tableOf(
              this.#meter,
              Array.from({ length: count }, () => this.next()),
            );
      }
    }
  }
}

const depthMax = 100;

/** How a script's value becomes a reply. */
export interface ReplyTerms {
  readonly meter: Meter;
  /** How the client's version encodes nil. */
  readonly nil: Buffer;
  readonly answerBytesMax: number;
}

/**
 * A script's value as a reply in RESP2 or 3. A table may hold one value many times, and each time is counted. Throws
 * `LibraryError`, and `Refusal` if the reply exceeds `answerBytesMax`.
 */
export function replyOf(value: LuaValue, { meter, nil, answerBytesMax }: ReplyTerms): Buffer {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const add = (piece: Buffer): void => {
    bytes += piece.length + pieceBytes;
    refuseAnswerBeyond(answerBytesMax, bytes);
    pieces.push(piece);
  };
  const addTable = (table: LuaTable, depth: number): void => {
    const [error, status] = [table.get('err'), table.get('ok')];
    if (typeof error === 'string') add(line('-', error));
    else if (typeof status === 'string') add(line('+', status));
    else {
      let count = 0;
      while (table.get(count + 1) !== undefined) count += 1;
      meter.step(count);
      add(Buffer.from(`*${count}\r\n`));
      for (let at = 1; at <= count; at++) addValue(table.get(at), depth + 1);
    }
  };
  const addValue = (one: LuaValue, depth: number): void => {
    if (depth > depthMax) throw new LibraryError('reached lua stack limit');
    meter.step();
    if (typeof one === 'string') {
      refuseAnswerBeyond(answerBytesMax, bytes + one.length);
      meter.step(one.length >>> 6);
      add(bulk(Buffer.from(one, 'latin1')));
    } else if (typeof one === 'number') add(Buffer.from(`:${integerOf(one)}\r\n`));
    else if (one instanceof LuaTable) addTable(one, depth);
    else add(isTrue(one) && one === true ? Buffer.from(':1\r\n') : nil);
  };
  addValue(value, 0);
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/** About the memory of a piece of a reply in addition to its bytes. */
const pieceBytes = 64;

/** The whole part; of what has none within 64 bits, what a conversion in C gives on x86. */
function integerOf(value: number): string {
  const limit = 0x8000000000000000;
  if (!(Math.abs(value) < limit)) return '-9223372036854775808';
  return String(BigInt(Math.trunc(value)));
}

function bulk(value: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')]);
}

function line(mark: '-' | '+', text: string): Buffer {
  return Buffer.from(`${mark}${text.replaceAll(/[\r\n]+/g, ' ')}\r\n`, 'latin1');
}
