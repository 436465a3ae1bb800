/** The state of a process's clocks as its starter sets it (`clock-preload.ts`). */

/** How the clocks of a process differ from the machine's. */
export interface ClockState {
  /** How far the wall clock is ahead (below 0: behind), in milliseconds. */
  readonly offsetMs: number;
  /** By how many parts per million both clocks are fast (below 0: slow). */
  readonly ppm: number;
  /** Where the wall clock stands still; undefined: it goes. */
  readonly frozenMs: number | undefined;
  /** How early and how late timers fire at most, in microseconds. */
  readonly earlyUs: number;
  readonly lateUs: number;
}

/** The variable of the environment that holds the first state, as JSON. */
export const clockVariable = 'SIMULATED_CLOCKS';
