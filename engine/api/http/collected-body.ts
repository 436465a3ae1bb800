/**
 * A body whose length must be known before it is sent, collected within a bound that all such bodies of a listener
 * share. Its bytes count from the moment when they are produced to the moment when the client has taken them or is gone:
 * clients that read slowly cannot make the node hold more than the bound.
 */
import type { HttpRequest } from '../../io/http.ts';

/** The bytes that the collected bodies of one listener hold, and their bound. */
export class CollectedBytes {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#bytes;
  }

  /** Whether no further piece should be collected. */
  get isFull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  /** Counts `bytes` more, or fewer if negative. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }
}

type Pieces = AsyncGenerator<Uint8Array, void, undefined>;

/** A body of pieces. `collect` gathers them in advance; the iteration then yields them, and the pieces not collected. */
export class CollectedBody implements AsyncIterableIterator<Uint8Array, void, undefined> {
  readonly #pieces: Pieces;
  readonly #budget: CollectedBytes;
  #collected: Uint8Array[] = [];
  /** Bytes of this body that the budget counts. */
  #held = 0;
  /** Bytes of the piece that was yielded last: the client is taking it. */
  #leaving = 0;
  #gone = false;

  constructor(pieces: Pieces, request: Pick<HttpRequest, 'onGone'>, budget: CollectedBytes) {
    this.#pieces = pieces;
    this.#budget = budget;
    request.onGone(() => {
      // The port may not have begun to iterate; its own `return` then does not come.
      this.return().catch(() => undefined);
    });
  }

  /**
   * Gathers all pieces and returns their length in bytes. Undefined if the budget is full, or the client is gone: the
   * pieces that are left are produced while the body is sent. Rejects with the failure of a piece.
   */
  async collect(): Promise<number | undefined> {
    try {
      while (!this.#budget.isFull) {
        const { done, value } = await this.#pieces.next();
        if (done === true) return this.#held;
        if (this.#gone) return undefined;
        this.#collected.push(value);
        this.#hold(value.length);
      }
    } catch (error) {
      this.#hold(-this.#held);
      throw error;
    }
    return undefined;
  }

  async next(): Promise<IteratorResult<Uint8Array, void>> {
    this.#hold(-this.#leaving);
    const value = this.#collected.shift();
    this.#leaving = value?.length ?? 0;
    return value === undefined ? this.#pieces.next() : { done: false, value };
  }

  async return(): Promise<IteratorResult<Uint8Array, void>> {
    this.#gone = true;
    this.#collected = [];
    this.#leaving = 0;
    this.#hold(-this.#held);
    return this.#pieces.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    this.#budget.add(bytes);
  }
}
