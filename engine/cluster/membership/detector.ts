/**
 * Phi-accrual failure detection (source: Hayashibara, Défago, Yared, Katayama, "The φ accrual failure detector", 2004,
 * with the exponential model that Cassandra took over):
 *
 *     phi = elapsed / (mean interval x ln 10)
 *
 * that is, -log10 of the probability that a heartbeat is still to come after so long a silence. All numbers are whole:
 * microseconds in, thousandths of phi out. So no two platforms cross a threshold at different times.
 *
 * Invariants:
 *
 * - phi is 0 until the second heartbeat, never negative, and never falls while no heartbeat comes, unless the observer
 *   itself has paused (`pardon`).
 * - The mean is that of the last `samplesMax` intervals, and at least `meanUsMin`, so that quick heartbeats do not make
 *   it jumpy. An interval counts as `intervalUsMax` at most, so that one long silence does not make it slow.
 * - Until `assumedIntervals` were seen, each missing one counts as `meanUsMin`. The first intervals of a starting
 *   cluster are few and long, and with a mean of them alone a peer that dies then would be DOWN late.
 */

/** 1 / ln 10, in millionths. */
const millionthsPerLn10 = 434_294;

/** Intervals that a peer is assumed to have kept before its first heartbeat. */
const assumedIntervals = 10;

/** The most that the gauge shows: a phi of about two million, after weeks of silence. */
const milliPhiMax = 0x7fffffff;

/** Parameters of the detector. */
export interface DetectorOptions {
  /** How many intervals the mean covers. */
  readonly samplesMax: number;
  /** The least mean, in microseconds. */
  readonly meanUsMin: number;
  /** The most that one interval counts for, in microseconds. */
  readonly intervalUsMax: number;
  /** The threshold in thousandths (8.0 is 8000): a peer with a greater phi is DOWN. */
  readonly thresholdMilliPhi: number;
}

/** Defaults: phi 8, and heartbeats about once a second. */
export const detectorDefaults: DetectorOptions = {
  samplesMax: 100,
  meanUsMin: 1_000_000,
  intervalUsMax: 5_000_000,
  thresholdMilliPhi: 8000,
};

/** The detector of one peer. */
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
   * A heartbeat arrived at this monotonic instant. `beats`: how many heartbeats since the last arrival. Through other
   * peers several come at once, so the detector records the time per heartbeat.
   */
  heartbeat(nowUs: number, beats = 1): void {
    if (this.#lastUs !== undefined) this.#remember(Math.max(0, nowUs - this.#lastUs), beats);
    this.#lastUs = nowUs;
  }

  /**
   * A heartbeat ended a silence that was already judged as DOWN. Its length says nothing about the intervals to come.
   */
  resume(nowUs: number): void {
    this.#lastUs = nowUs;
  }

  /** The observer did not listen for `us` microseconds of the silence; they do not count. */
  pardon(us: number, nowUs: number): void {
    if (this.#lastUs !== undefined) this.#lastUs = Math.min(nowUs, this.#lastUs + us);
  }

  /** Forgets everything: the peer runs as a new incarnation. */
  reset(): void {
    this.#intervalsUs.length = 0;
    this.#next = 0;
    this.#sumUs = 0;
    this.#lastUs = undefined;
  }

  /** Thousandths of phi at this instant: a whole number, 0 or more. */
  milliPhi(nowUs: number): number {
    return this.#intervalsUs.length === 0 ? 0 : this.#score(nowUs);
  }

  /** True if phi exceeds the threshold. */
  suspects(nowUs: number): boolean {
    return this.#score(nowUs) > this.#options.thresholdMilliPhi;
  }

  /** True if phi exceeds half of the threshold: the peer is to be asked before it is judged. */
  isOverdue(nowUs: number): boolean {
    return 2 * this.#score(nowUs) > this.#options.thresholdMilliPhi;
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
