/**
 * Bounds the requests of one credential at one node: `perSecond` on average, `burst` at once (a token bucket). The
 * bucket begins full, holds at most `burst` tokens, and gains `perSecond` tokens each second; a request takes one.
 */

/** The rate of one credential. */
export interface RequestRate {
  /** Requests each second on average, a whole number from 1. */
  readonly perSecond: number;
  /** Requests at once, a whole number from 1. */
  readonly burst: number;
}

/** Highest rate and largest burst of a credential. */
export const requestRateMax = 1_000_000;

/** The tokens of one credential. */
export class RequestTokens {
  readonly rate: RequestRate;
  /** Tokens in millionths, so that microseconds add whole numbers. */
  #millionths: number;
  #atUs: number;

  /** `nowUs` on the clock's `nowUs`. */
  constructor(rate: RequestRate, nowUs: number) {
    this.rate = rate;
    this.#millionths = rate.burst * 1_000_000;
    this.#atUs = nowUs;
  }

  /** Takes the token of one request. False if there is none: the request must be refused. */
  take(nowUs: number): boolean {
    const { perSecond, burst } = this.rate;
    this.#millionths = Math.min(burst * 1_000_000, this.#millionths + (nowUs - this.#atUs) * perSecond);
    this.#atUs = nowUs;
    if (this.#millionths < 1_000_000) return false;
    this.#millionths -= 1_000_000;
    return true;
  }
}
