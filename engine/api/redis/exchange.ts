/** One command of a connection, from its start to its reply. */
import type { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { Failure } from '../client-observer.ts';
import type { Command } from './commands.ts';
import type { RespVersion } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Edit } from './key-queue.ts';

/**
 * The order that a command needs: `alone` runs when nothing else does, `read` and `write` by key, `free` at any time.
 */
export type Order = 'free' | 'read' | 'write' | 'alone';

/** What a command is counted as; undefined: not as a request for objects. */
export type Purpose = 'read' | 'write' | undefined;

/** The session that an exchange belongs to. */
export interface ExchangeOwner {
  settled(exchange: Exchange, reply: Buffer): void;
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void;
}

/** A command with its state; the key queue treats it as an edit. */
export class Exchange implements Edit {
  readonly command: Command;
  readonly request: Request;
  /** The protocol version of the reply: the one in effect when the command was taken. */
  readonly version: RespVersion;
  readonly order: Order;
  /** The key that the command reads or writes; undefined unless it is exactly one. */
  readonly key: PackedKey | undefined;
  /** When the command was taken, in microseconds of the monotonic clock; 0 if `purpose` is undefined. */
  readonly startUs: number;
  readonly purpose: Purpose;
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
    order: Order,
    key: PackedKey | undefined,
    startUs: number,
    purpose: Purpose,
  ) {
    this.#owner = owner;
    this.command = command;
    this.request = request;
    this.version = version;
    this.order = order;
    this.key = key;
    this.startUs = startUs;
    this.purpose = purpose;
  }

  settle(reply: Buffer): void {
    this.#owner.settled(this, reply);
  }

  fail(error: LockstepError | undefined, text: string): void {
    this.#owner.failed(this, error, text);
  }
}
