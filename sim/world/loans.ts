/**
 * Bytes that a writer has lent to the door until they are released. The door reads them where they lie until they have
 * left the host, and looks once more before it lets go: who changed them meanwhile has broken the door's contract.
 */
import type { BytesOwner } from '../../engine/io/network.ts';
import type { Ground } from './ground.ts';

interface Loan {
  readonly view: Uint8Array;
  readonly copy: Buffer;
  readonly owner: BytesOwner;
  /** Place in the stream after the last of them. */
  readonly end: number;
}

export class Loans {
  readonly #ground: Ground;
  readonly #host: string;
  readonly #remote: string;
  #loans: Loan[] = [];

  constructor(ground: Ground, host: string, remote: string) {
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
    let count = 0;
    for (const { end } of this.#loans) {
      if (end > departed) break;
      count += 1;
    }
    if (count === 0) return;
    for (const { view, copy, owner } of this.#loans.splice(0, count)) {
      if (!copy.equals(view)) this.#fail();
      owner.released(view);
    }
  }

  #fail(): void {
    const error = new Error(`bytes lent toward ${this.#remote} were changed before they were released`);
    this.#ground.fail(this.#host, 'network', error);
  }

  /** The connection is over: everything is let go, without a word. */
  forget(): void {
    this.#loans = [];
  }
}
