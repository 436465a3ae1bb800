/**
 * Buffers that a writer has lent to the network port until the port releases them. The port sends a copy; at release it
 * compares the copy with the buffer. A writer that changed the buffer in between broke the port's contract.
 */
import type { BytesOwner } from '../../../engine/io/network.ts';
import type { WorldContext } from '../core/world-context.ts';

interface Lent {
  readonly view: Uint8Array;
  readonly copy: Buffer;
  readonly owner: BytesOwner;
  /** Position in the stream after the last of its bytes. */
  readonly end: number;
}

/** How many released entries are removed at once. */
const compactFrom = 64;

/** The lent buffers of one connection. */
export class BorrowedBuffers {
  readonly #ground: WorldContext;
  readonly #host: string;
  readonly #remote: string;
  readonly #lent: Lent[] = [];
  /** Entries before this index are released. */
  #first = 0;

  constructor(ground: WorldContext, host: string, remote: string) {
    this.#ground = ground;
    this.#host = host;
    this.#remote = remote;
  }

  /** Registers a buffer whose bytes end at `end` of the stream; returns the bytes to send. */
  lend(view: Uint8Array, owner: BytesOwner, end: number): Uint8Array {
    const copy = Buffer.allocUnsafe(view.length);
    copy.set(view);
    this.#lent.push({ view, copy, owner, end });
    return copy;
  }

  /** Releases the buffers before position `departed` of the stream. */
  release(departed: number): void {
    for (let lent = this.#lent[this.#first]; lent !== undefined; lent = this.#lent[this.#first]) {
      if (lent.end > departed) return;
      this.#takeOff();
      if (!sameBytes(lent.copy, lent.view)) this.#fail();
      lent.owner.released(lent.view);
    }
  }

  #takeOff(): void {
    // Mostly there is one. Setting the length of an array to 0 would free its memory, only to allocate it again.
    if (this.#lent.length === 1) {
      this.#lent.pop();
      return;
    }
    this.#first += 1;
    if (this.#first === this.#lent.length) this.#lent.length = 0;
    else if (this.#first >= compactFrom) this.#lent.splice(0, this.#first);
    else return;
    this.#first = 0;
  }

  #fail(): void {
    const error = new Error(`bytes lent toward ${this.#remote} were changed before they were released`);
    this.#ground.fail(this.#host, 'network', error);
  }

  /** The connection is over: drops all buffers without releasing them. */
  forget(): void {
    this.#lent.length = 0;
    this.#first = 0;
  }
}

/** Short runs are compared byte by byte, which is faster than a call out of JavaScript. */
function sameBytes(left: Buffer, right: Uint8Array): boolean {
  if (left.length > shortBytesMax) return left.equals(right);
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

const shortBytesMax = 48;
