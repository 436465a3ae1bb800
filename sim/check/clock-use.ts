/**
 * `no-ambient-time` (INV31), clock use: every life of a node learns the time, waits and draws by its doors, never by
 * the machine's own clocks, timers and dice. Each life that asked its doors for the time is one comparison.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export interface ClockUse {
  readonly node: string;
  readonly life: number;
  /** How often it asked its clock door for the time or for a timer. */
  readonly readings: number;
  /** What of the machine it called instead, by name, and when that first happened. */
  readonly machineCalls: readonly string[];
  readonly firstCallUs: number | undefined;
}

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
