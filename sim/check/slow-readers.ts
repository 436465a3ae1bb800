/**
 * `resource-bounds` (INV23) of clients that ask and do not read: while they did not, their node took no more of their
 * requests than the connection itself holds both ways; and once they read, every reply came, in order. Each such
 * client is two comparisons; one whose connection ended meanwhile (its node died) is skipped.
 */
import type { SlowReading } from '../evidence/slow-reading.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export function checkSlowReaders(readings: readonly SlowReading[], takenBytesMax: number): CheckReport {
  const tally = new Tally('resource-bounds');
  for (const { node, atUs, askedBytes, takenBytes, asked, answered } of readings) {
    if (answered === undefined) {
      tally.skip();
      continue;
    }
    tally.compare(takenBytes <= takenBytesMax, atUs, () => {
      const most = `a connection holds ${takenBytesMax}`;
      return `${node} took ${takenBytes} of ${askedBytes} bytes from a client that read nothing; ${most}`;
    });
    tally.compare(answered === asked, atUs, () => {
      return `${node} answered ${answered} of ${asked} requests of a slow reader as they were asked`;
    });
  }
  return tally.report();
}
