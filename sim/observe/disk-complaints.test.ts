import { expect, it } from 'vitest';

import { Trace } from '../world/core/trace.ts';
import { DiskComplaints } from './disk-complaints.ts';

/** The unfounded reports of two hosts that log the event; the disk of `n2` has failed. */
function unfounded(event: string): readonly string[] {
  const trace = new Trace(
    () => 0,
    undefined,
    () => undefined,
  );
  const complaints = new DiskComplaints(trace, (host) => host === 'n2');
  for (const [index, host] of ['n1', 'n2'].entries()) {
    trace.addHost(host);
    trace.logged(index, 'error', event, { detail: 'why' });
  }
  return complaints.unfounded.map(({ text }) => text);
}

it('a report of a failing disk is unfounded where the disk has failed nothing', () => {
  expect(unfounded('store.seal.failed')).toEqual([
    'n1 reports store.seal.failed (why), and its disk has failed nothing',
  ]);
});

it('other errors are no such reports', () => {
  expect(unfounded('transfer.leave.failed')).toEqual([]);
});
