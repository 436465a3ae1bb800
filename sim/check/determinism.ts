/**
 * `determinism` (INV29): the same plan gives the same run. Compares the digests of two runs; where both
 * traces are at hand, the first event that differs is named.
 */
import type { BadEvent, CheckReport } from './report.ts';
import { Tally } from './report.ts';

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

/** Microseconds of virtual time of a line of the trace (`0.012345 n2 net.delivered …`); 0 when it has none. */
export function timeOfLine(line: string): number {
  const seconds = Number.parseFloat(line);
  return Number.isNaN(seconds) ? 0 : Math.round(seconds * 1_000_000);
}

/** The first line in which two traces differ. */
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
