/**
 * What has arrived at one side of a connection and was not handed to the process: bytes, and perhaps the end. It draws
 * where deliveries are cut (`stream-fragmentation`), mostly into small pieces, which exercise the boundaries in
 * decoders.
 */
import { ByteQueue } from './byte-queue.ts';
import { placeOf } from './links.ts';
import type { Machine } from './machine.ts';
import type { PipeContext } from './pipe.ts';

/** Bytes handed over in one call at most, like a socket's read buffer. */
const readBytesMax = 64 * 1024;
const smallPieceBytes = 16;

/** The unread bytes of one side. */
export class Inbox {
  readonly #shared: PipeContext;
  readonly #from: Machine;
  readonly #to: Machine;
  readonly #bytes = new ByteQueue();
  #splitNext = false;
  /** The other side will send no more than what is here. */
  ends = false;
  /** The process has learned of the end. */
  endTold = false;

  constructor(shared: PipeContext, from: Machine, to: Machine) {
    this.#shared = shared;
    this.#from = from;
    this.#to = to;
  }

  /** How many bytes wait. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Whether there is something to hand to the process. */
  get waiting(): boolean {
    return this.#bytes.length > 0 || (this.ends && !this.endTold);
  }

  /** Whether bytes that arrive now may go to the process directly, without passing through here. */
  mayPass(length: number): boolean {
    if (this.#bytes.length > 0 || length > readBytesMax) return false;
    this.#splitNext = this.#drawSplit();
    return !this.#splitNext;
  }

  push(bytes: Uint8Array): void {
    this.#bytes.push(bytes);
  }

  /** The next piece, and whether it was cut off from more. */
  take(): { readonly bytes: Uint8Array; readonly split: boolean } {
    const whole = Math.min(this.#bytes.length, readBytesMax);
    const split = whole > 1 && (this.#splitNext || this.#drawSplit());
    this.#splitNext = false;
    return { bytes: this.#bytes.take(split ? this.#drawPiece(whole) : whole), split };
  }

  clear(): void {
    this.#bytes.clear();
  }

  #drawSplit(): boolean {
    const { splitOneIn } = this.#shared.ground.tuning.network;
    if (this.#shared.links.shreds(this.#from, this.#to)) return true;
    return splitOneIn > 0 && this.#shared.links.random(this.#from, this.#to).below(splitOneIn) === 0;
  }

  #drawPiece(whole: number): number {
    const random = this.#shared.links.random(this.#from, this.#to);
    this.#shared.ground.ledger.enter('stream-fragmentation', placeOf(this.#from, this.#to), 'deliverySplit');
    return 1 + random.below(random.chance(1, 2) ? Math.min(whole, smallPieceBytes) : whole);
  }
}
