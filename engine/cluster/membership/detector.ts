/**
 * Phi-accrual failure detection (source: Hayashibara, Défago, Yared, Katayama, "The φ accrual failure detector",
 * 2004, with the exponential model that Cassandra took over):
 *
 *     phi = elapsed / (mean interval x ln 10)
 *
 * that is, -log10 of the probability that a heartbeat is still to come after so long a silence. Everything is whole
 * numbers: microseconds in, thousandths of phi out, so that no two platforms cross a threshold apart.
 *
 * Invariants: phi is 0 until the second heartbeat, never negative, and never falls while no heartbeat comes (unless the
 * observer itself has slept: `pardon`). The mean is that of the last `samplesMax` intervals, at least `meanUsMin`, so
 * quick heartbeats don't make it jumpy; an interval counts as `intervalUsMax` at most, so one long silence does not make
 * it slow. Until `assumedIntervals` have been seen, those that are missing count as `meanUsMin` each: the first of a
 * starting cluster are few and long, and a mean of them alone would call who dies then down late.
 */

/** 1 / ln 10, in millionths. */
const millionthsPerLn10 = 434_294;

/** Intervals that a peer is taken to have kept before it was first heard. */
const assumedIntervals = 10;

/** The gauge's ceiling: a phi of about two million, after weeks of silence. */
const milliPhiMax = 0x7fffffff;

export interface DetectorOptions {
  /** Intervals remembered. */
  readonly samplesMax: number;
  /** Microseconds that the mean is never taken below. */
  readonly meanUsMin: number;
  /** Microseconds that one interval counts for at most. */
  readonly intervalUsMax: number;
  /** A peer whose phi exceeds this (in thousandths; 8.0 is 8000) is down. */
  readonly thresholdMilliPhi: number;
}

export const detectorDefaults: DetectorOptions = {
  samplesMax: 100,
  meanUsMin: 1_000_000,
  intervalUsMax: 5_000_000,
  thresholdMilliPhi: 8000,
};

export class Detector {
  readonly #options: DetectorOptions;
  readonly #intervalsUs: number[] = [];
  #next = 0;
  #sumUs = 0;
  #lastUs: number | undefined;

  constructor(options: DetectorOptions) {
    this.#options = options;
  }

  /**
   * News of the peer arrived at this monotonic instant: `beats` heartbeats since the last news. By way of others they
   * come several at once, and rarely one by one; what is remembered is the time per heartbeat.
   */
  heartbeat(nowUs: number, beats = 1): void {
    if (this.#lastUs !== undefined) this.#remember(Math.max(0, nowUs - this.#lastUs), beats);
    this.#lastUs = nowUs;
  }

  /** A heartbeat after a silence that was judged already: its length says nothing of the intervals to come. */
  resume(nowUs: number): void {
    this.#lastUs = nowUs;
  }

  /** The observer was not listening for `us` of the silence. */
  pardon(us: number, nowUs: number): void {
    if (this.#lastUs !== undefined) this.#lastUs = Math.min(nowUs, this.#lastUs + us);
  }

  /** Forgets everything: the peer began a new life. */
  reset(): void {
    this.#intervalsUs.length = 0;
    this.#next = 0;
    this.#sumUs = 0;
    this.#lastUs = undefined;
  }

  /** Thousandths of phi at this instant; a whole number, 0 or more. */
  milliPhi(nowUs: number): number {
    return this.#intervalsUs.length === 0 ? 0 : this.#score(nowUs);
  }

  /** The silence is longer than the threshold allows. */
  suspects(nowUs: number): boolean {
    return this.#score(nowUs) > this.#options.thresholdMilliPhi;
  }

  #score(nowUs: number): number {
    if (this.#lastUs === undefined) return 0;
    const elapsedUs = Math.max(0, nowUs - this.#lastUs);
    return Math.min(milliPhiMax, Math.floor((elapsedUs * millionthsPerLn10) / (this.#meanUs() * 1000)));
  }

  #meanUs(): number {
    const { samplesMax, meanUsMin } = this.#options;
    const seen = this.#intervalsUs.length;
    const assumed = Math.max(0, Math.min(assumedIntervals, samplesMax) - seen);
    return Math.max(meanUsMin, Math.floor((this.#sumUs + assumed * meanUsMin) / (seen + assumed)));
  }

  #remember(silenceUs: number, beats: number): void {
    const intervalUs = Math.min(Math.floor(silenceUs / beats), this.#options.intervalUsMax);
    const dropped = this.#intervalsUs[this.#next] ?? 0;
    this.#sumUs += intervalUs - dropped;
    this.#intervalsUs[this.#next] = intervalUs;
    this.#next = (this.#next + 1) % this.#options.samplesMax;
  }
}
