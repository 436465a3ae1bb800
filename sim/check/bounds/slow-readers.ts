/**
 * `resource-bounds` (INV23) of clients that send requests and do not read the answers. Meanwhile their node accepts no
 * more of their requests than the connection itself holds in both directions. Once they read, every reply arrives, in
 * order. Each such client is two comparisons; a client whose connection ended meanwhile (its node died) is skipped.
 */
import type { SlowReading } from '../../evidence/slow-reading.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** `takenBytesMax`: the most bytes of requests that a node may accept. */
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
