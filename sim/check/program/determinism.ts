/**
 * `determinism` (INV29): the same plan gives the same run. Compares the digests of two runs, and names the first
 * different event if both traces are available.
 */
import { invariant } from '../invariant.ts';
import type { BadEvent, CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The row of `determinism`. */
export const determinismRow = invariant({
  name: 'determinism',
  code: 'INV29',
  promise: 'the same plan gives the same run',
  gravity: 'testbed',
  breach: 'a failure may not replay',
  needs: [],
  everydayFloor: 1,
});

/** Compares two digests; `firstDifference` is called only if they differ. */
export function checkDeterminism(
  first: string,
  second: string,
  firstDifference: () => BadEvent = () => ({ atUs: 0, text: 'the digests differ' }),
): CheckReport {
  const tally = new Tally('determinism');
  if (first === second) {
    tally.compare(true, 0, () => '');
  } else {
    const { atUs, text } = firstDifference();
    tally.compare(false, atUs, () => `two runs of one plan differ (${first} and ${second}): ${text}`);
  }
  return tally.report();
}

/** Virtual time in microseconds of a trace line (`0.012345 n2 net.delivered …`); 0 if it has none. */
export function timeOfLine(line: string): number {
  const seconds = Number.parseFloat(line);
  return Number.isNaN(seconds) ? 0 : Math.round(seconds * 1_000_000);
}

/** The first line at which two traces differ. */
export function firstDifference(first: readonly string[], second: readonly string[]): BadEvent {
  const length = Math.max(first.length, second.length);
  for (let index = 0; index < length; index++) {
    const left = first[index] ?? '(the trace ends)';
    const right = second[index] ?? '(the trace ends)';
    if (left === right) continue;
    return { atUs: timeOfLine(left), text: `event ${index}: ${left} | ${right}` };
  }
  return { atUs: 0, text: 'the traces are equal' };
}
