/** Ids of requests are unsigned 32-bit integers; 0 is for the plane's own pings. */
const idMax = 0xffffffff;

/** Numbers the requests of one link over all its connections, from 1; after the last id comes the first one again. */
export class RequestIds {
  #last: number;
  #haveComeRound = false;

  /** `last`: the id that was given out before. */
  constructor(last = 0) {
    this.#last = last;
  }

  /** Ids are being given out that have been given out before: one may still be under way. */
  get haveComeRound(): boolean {
    return this.#haveComeRound;
  }

  next(): number {
    if (this.#last === idMax) {
      this.#last = 0;
      this.#haveComeRound = true;
    }
    this.#last += 1;
    return this.#last;
  }
}
