/**
 * Bounds what one connection holds between its commands: the commands that wait for EXEC, and the values under WATCH. A
 * client may be silent in between for as long as it likes, so both count in a part of the budget that all clients share
 * (`session/request-budget.ts`).
 */
import type { BodyBudget } from '../../io/http.ts';
import { RequestShare, smallRequestBytes } from '../session/request-budget.ts';
import { valueBytesOf } from './answer-size.ts';
import type { Step, Watched } from './batches.ts';
import type { Command } from './commands.ts';
import type { Request } from './request-reader.ts';
import { pieceBytes } from './request-reader.ts';

/** Approximate pieces of memory of a queued command beside its arguments, and of a watched key beside its value. */
const piecesOfCommand = 4;
const piecesOfKey = 4;

/** The bytes of the budget that one connection holds for its transaction. */
export class TransactionMemory {
  readonly #budget: BodyBudget;
  readonly #share: RequestShare;
  #queuedBytes = 0;
  #watchedBytes = 0;
  #isClosed = false;

  constructor(budget: BodyBudget) {
    this.#budget = budget;
    this.#share = new RequestShare(budget);
  }

  /** Holds `bytes` for the queue from now on. Throws `Overloaded`, after which it holds what it held before. */
  queue(bytes: number): void {
    this.#hold(bytes, this.#watchedBytes);
  }

  /** Holds what WATCH has read, as `queue` does. */
  watch(watched: readonly Watched[]): void {
    let bytes = 0;
    for (const { key, object } of watched) {
      bytes += key.packed.length + valueBytesOf(object) + piecesOfKey * pieceBytes;
    }
    this.#hold(this.#queuedBytes, bytes);
  }

  /** The connection has closed: holds nothing from now on, also for a WATCH that still reads. */
  close(): void {
    this.#hold(0, 0);
    this.#isClosed = true;
  }

  #hold(queuedBytes: number, watchedBytes: number): void {
    if (this.#isClosed) return;
    if (!this.#share.hold(queuedBytes + watchedBytes)) throw this.#budget.refuse();
    this.#queuedBytes = queuedBytes;
    this.#watchedBytes = watchedBytes;
  }
}

/** The commands that wait for EXEC. */
export class QueuedCommands {
  readonly #memory: TransactionMemory;
  #steps: Pick<Step, 'command' | 'request'>[] = [];
  #bytes = 0;
  #isSpoilt = false;

  constructor(memory: TransactionMemory) {
    this.#memory = memory;
  }

  get steps(): readonly Pick<Step, 'command' | 'request'>[] {
    return this.#steps;
  }

  /** Whether a command was refused, so EXEC will be refused. */
  get isSpoilt(): boolean {
    return this.#isSpoilt;
  }

  /**
   * Adds a command; false, with no effect, if there are `countMax` or would be more than `bytesMax` bytes in memory.
   * Throws `Overloaded`. A spoilt queue takes nothing more, since nothing of it will run.
   */
  add(command: Command, request: Request, countMax: number, bytesMax: number): boolean {
    if (this.#isSpoilt) return true;
    let bytes = this.#bytes + (request.length + piecesOfCommand) * pieceBytes;
    for (const one of request) bytes += one.length;
    if (this.#steps.length >= countMax || bytes > bytesMax) return false;
    this.#memory.queue(bytes);
    this.#bytes = bytes;
    this.#steps.push({ command, request: ownBytesOf(request) });
    return true;
  }

  /** Notes that a command was refused, and drops all. */
  spoil(): void {
    this.#isSpoilt = true;
    this.drop();
  }

  /** Drops all commands. */
  drop(): void {
    this.#steps = [];
    this.#bytes = 0;
    this.#memory.queue(0);
  }
}

/** A small request in memory of its own: its arguments are views that each hold all bytes which arrived with them. */
function ownBytesOf(request: Request): Request {
  let size = 0;
  for (const one of request) size += one.length;
  if (size > smallRequestBytes) return request;
  const bytes = Buffer.alloc(size);
  let at = 0;
  return request.map((one) => {
    bytes.set(one, at);
    at += one.length;
    return bytes.subarray(at - one.length, at);
  });
}
