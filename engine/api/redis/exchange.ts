/** One command of a connection, from its start to its reply. */
import { Deferred } from '../../base/deferred.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { Failure } from '../client-observer.ts';
import type { Step } from './batches.ts';
import type { Command } from './commands.ts';
import type { Ordered, Way } from './key-order.ts';
import type { RespVersion } from './replies.ts';
import { bulkBytesOf } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Edit } from './key-queue.ts';
import type { Message } from './messages/message.ts';
import type { Database } from './session-dependencies.ts';

/** What a command is counted as; undefined: not as a request for objects. */
export type Purpose = 'read' | 'write' | undefined;

/** The session that an exchange belongs to. */
export interface ExchangeOwner {
  settled(exchange: Exchange, reply: Buffer): void;
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void;
  /**
   * Publishes messages once every earlier command of the connection has ended or has published its own. Calls `done`
   * once, perhaps within this call, with the number of subscriptions that got each.
   */
  publish(exchange: Exchange, messages: readonly Message[], done: (counts: readonly number[]) => void): void;
}

/** The commands that must run alone; `tasks.ts` runs them. */
export type Task = 'exec' | 'watch' | 'unwatch' | 'walk' | 'pubsub';

/** What a command does once its turn has come. */
export type Work =
  /** Nothing: its reply was known at once. */
  | { readonly kind: 'none' }
  /** Reads or writes one key. */
  | { readonly kind: 'key'; readonly key: ObjectKey }
  /** Runs steps on several keys. `exec`: the reply is the array of their replies. */
  | { readonly kind: 'steps'; readonly steps: readonly Step[]; readonly exec: boolean }
  /** Publishes a message. */
  | { readonly kind: 'publish' }
  /** Runs while nothing else of the connection is under way. */
  | { readonly kind: 'alone'; readonly task: Task };

/** A command with its state; the key queue treats it as an edit, the key order as a command with a place. */
export class Exchange implements Edit, Ordered {
  readonly command: Command;
  readonly request: Request;
  /** The protocol version of the reply: the one in effect when the command was taken. */
  readonly version: RespVersion;
  readonly work: Work;
  readonly keys: readonly PackedKey[];
  readonly way: Way;
  /** The database that was selected when the command was taken. */
  readonly database: Database;
  blockedCount = 0;
  /** When the command was taken, in microseconds of the monotonic clock; 0 if `purpose` is undefined. */
  readonly startUs: number;
  readonly purpose: Purpose;
  /** Where the steps note how long they take; undefined if nothing reads it. */
  readonly times: RequestTimes | undefined;
  /** The reply, while it waits for earlier ones. */
  reply: Buffer | undefined;
  /** What an error reply is counted as, if its text does not say all of it. */
  failure: Failure | undefined;
  /** Bytes of the value in the reply; undefined: none. */
  payloadBytes: number | undefined;
  readonly #owner: ExchangeOwner;

  constructor(
    owner: ExchangeOwner,
    command: Command,
    request: Request,
    version: RespVersion,
    work: Work,
    keys: readonly PackedKey[],
    way: Way,
    database: Database,
    startUs: number,
    purpose: Purpose,
    times: RequestTimes | undefined,
  ) {
    this.#owner = owner;
    this.command = command;
    this.request = request;
    this.version = version;
    this.work = work;
    this.keys = keys;
    this.way = way;
    this.database = database;
    this.startUs = startUs;
    this.purpose = purpose;
    this.times = times;
  }

  settle(reply: Buffer): void {
    if (this.command.name === 'get') this.payloadBytes = bulkBytesOf(reply);
    this.#owner.settled(this, reply);
  }

  /** Publishes messages in the connection's order. Resolves with the number of subscriptions that got each. */
  publish(messages: readonly Message[]): Promise<readonly number[]> {
    const counts = new Deferred<readonly number[]>();
    this.#owner.publish(this, messages, (found) => counts.resolve(found));
    return counts.promise;
  }

  fail(error: LockstepError | undefined, text: string): void {
    this.#owner.failed(this, error, text);
  }
}
