/**
 * `no-ambient-time` (INV31), clock use. Every incarnation of a node takes time, timers and random numbers from its
 * ports, never from the machine's own functions. Each incarnation that used its clock port is one comparison.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The clock use of one incarnation. */
export interface ClockUse {
  readonly node: string;
  readonly life: number;
  /** Number of times that it asked its clock port for the time or for a timer. */
  readonly readings: number;
  /** Names of the machine's functions that it called instead. */
  readonly machineCalls: readonly string[];
  readonly firstCallUs: number | undefined;
}

/** The row of `no-ambient-time`. */
export const noAmbientTimeRow = invariant({
  name: 'no-ambient-time',
  code: 'INV31',
  promise: 'nodes use the clocks and chance they are given',
  gravity: 'testbed',
  breach: 'a run depends on the machine that it runs on',
  needs: [],
  everydayFloor: 3,
  check: ({ clockUses }: { readonly clockUses: readonly ClockUse[] }) => checkClockUse(clockUses),
});

/** Compares each incarnation that used its clock port or a function of the machine. */
export function checkClockUse(uses: readonly ClockUse[]): CheckReport {
  const tally = new Tally('no-ambient-time');
  for (const { node, life, readings, machineCalls, firstCallUs } of uses) {
    if (readings + machineCalls.length === 0) continue;
    tally.compare(machineCalls.length === 0, firstCallUs ?? 0, () => {
      return `${node}, life ${life}, called ${machineCalls.join(', ')} of the machine and not its doors`;
    });
  }
  return tally.report();
}
