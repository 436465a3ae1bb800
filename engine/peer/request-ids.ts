/** Request ids are unsigned 32-bit integers; 0 is for the plane's own pings. */
const idMax = 0xffffffff;

/** Numbers the requests of one link over all its connections, from 1. After the last id it starts again at 1. */
export class RequestIds {
  #last: number;
  #haveComeRound = false;

  /** `last`: the id that was used last. */
  constructor(last = 0) {
    this.#last = last;
  }

  /** True once ids are used again: one of them may still be under way. */
  get haveComeRound(): boolean {
    return this.#haveComeRound;
  }

  /** The next id. */
  next(): number {
    if (this.#last === idMax) {
      this.#last = 0;
      this.#haveComeRound = true;
    }
    this.#last += 1;
    return this.#last;
  }
}
