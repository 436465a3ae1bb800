/**
 * Bytes that a writer has lent to the door until they are released. The door reads them where they lie until they have
 * left the host, and looks once more before it lets go: who changed them meanwhile has broken the door's contract.
 */
import type { BytesOwner } from '../../../engine/io/network.ts';
import type { WorldContext } from '../core/world-context.ts';

interface Loan {
  readonly view: Uint8Array;
  readonly copy: Buffer;
  readonly owner: BytesOwner;
  /** Place in the stream after the last of them. */
  readonly end: number;
}

/** So many released ones are taken off at once. */
const compactFrom = 64;

export class BorrowedBuffers {
  readonly #ground: WorldContext;
  readonly #host: string;
  readonly #remote: string;
  readonly #loans: Loan[] = [];
  /** Those before are released. */
  #first = 0;

  constructor(ground: WorldContext, host: string, remote: string) {
    this.#ground = ground;
    this.#host = host;
    this.#remote = remote;
  }

  /** Lends the bytes that end at `end` of the stream; gives what is to be sent. */
  lend(view: Uint8Array, owner: BytesOwner, end: number): Uint8Array {
    const copy = Buffer.allocUnsafe(view.length);
    copy.set(view);
    this.#loans.push({ view, copy, owner, end });
    return copy;
  }

  /** Releases what lies before `departed` of the stream. */
  release(departed: number): void {
    for (let loan = this.#loans[this.#first]; loan !== undefined; loan = this.#loans[this.#first]) {
      if (loan.end > departed) return;
      this.#takeOff();
      if (!sameBytes(loan.copy, loan.view)) this.#fail();
      loan.owner.released(loan.view);
    }
  }

  #takeOff(): void {
    // Mostly there is one. To empty an array by its length would give its memory away, to be made again.
    if (this.#loans.length === 1) {
      this.#loans.pop();
      return;
    }
    this.#first += 1;
    if (this.#first === this.#loans.length) this.#loans.length = 0;
    else if (this.#first >= compactFrom) this.#loans.splice(0, this.#first);
    else return;
    this.#first = 0;
  }

  #fail(): void {
    const error = new Error(`bytes lent toward ${this.#remote} were changed before they were released`);
    this.#ground.fail(this.#host, 'network', error);
  }

  /** The connection is over: everything is let go, without a word. */
  forget(): void {
    this.#loans.length = 0;
    this.#first = 0;
  }
}

/** Short runs byte by byte, which is faster than a call out of JavaScript. */
function sameBytes(left: Buffer, right: Uint8Array): boolean {
  if (left.length > shortBytesMax) return left.equals(right);
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

const shortBytesMax = 48;
