import { expect, it } from 'vitest';

import { backupMoments } from './backup-moments.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Mark, Recording } from './recording.ts';

const xid = 'n1-000000000001-1';

function step(lane: number, atUs: number, text: string): Mark {
  return { lane, atUs, kind: 'step', text: `${text} xid=${xid}`, about: [] };
}

function pinned(lane: number, atUs: number, id: string): Mark {
  return { lane, atUs, kind: 'log', text: `backup.segments.pinned id=${id} segments=1`, about: [] };
}

/** n1 decides, n2 applies; n3 has prepared, and applies at `appliedUs`. The backup keeps what is there at 3,000. */
function runOf(appliedUs: number, outcome: 'ok' | 'fail'): Recording {
  return {
    ...emptyRecording(),
    concern: { ...emptyConcern(), invariant: 'backup-consistency' },
    subjects: [xid],
    operations: [
      {
        ...{ id: 'k1', lane: 3, node: -1, invokedUs: 0, completedUs: 9000, about: [], outcome },
        text: 'k1 backup-operator takes a backup of n1 n2 n3: ok, 1 keys of objects',
      },
    ],
    marks: [
      step(1, 1000, 'xa.p.prepareRec.synced'),
      { ...step(2, 1000, 'xa.p.locks.taken'), text: `xa.p.locks.taken xid=${xid} phase=preparing keys=b/s0` },
      step(2, 1100, 'xa.p.prepareRec.synced'),
      step(0, 1200, 'xa.c.decision.synced'),
      step(1, 1400, 'xa.p.applied.synced'),
      step(2, appliedUs, 'xa.p.applied.synced'),
      ...[0, 1, 2].map((lane) => pinned(lane, 3000, 'k1-1')),
    ],
  };
}

it('says where a transaction stood that a backup caught half applied', () => {
  expect(backupMoments(runOf(4000, 'ok'))).toEqual([
    `The backup k1-1 keeps what was on the disks at 0.0030 s. ${xid} was half done then: n1 has synced its decision to commit (0.0012 s), n2 has applied it, and n3 has prepared and not applied it. So the backup holds the write of b/s0 in a prepare record alone, which a restore must complete.`,
  ]);
});

it('says nothing of transactions whose coordinator has forgotten them, nor where a branch is unlocked', () => {
  const run = runOf(4000, 'ok');
  expect(backupMoments({ ...run, marks: [step(0, 2000, 'xa.c.forget'), ...run.marks] })).toEqual([]);
  expect(backupMoments({ ...run, marks: [...run.marks, step(2, 2000, 'xa.p.locks.released')] })).toEqual([]);
});

it('says nothing of transactions that were applied everywhere, nor of backups that failed', () => {
  expect(backupMoments(runOf(2000, 'ok'))).toEqual([]);
  expect(backupMoments(runOf(4000, 'fail'))).toEqual([]);
});
