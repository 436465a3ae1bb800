import { expect, test } from 'vitest';

import { TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import { present } from '../../base/assert.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import { branchBucket, writeBranch } from '../formats/records.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import type { Xid } from '../formats/xid.ts';
import { Branches } from '../participant/branches.ts';
import { recoverTransactions } from './recovery.ts';

const self = { node: 'n1' as NodeId };
const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
const xids = [1, 2, 3].map((counter) => makeXid('n2' as NodeId, '0123456789ab', counter)) as [Xid, Xid, Xid];
const order: PrepareRequest = {
  coordinator: 'n2' as NodeId,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: self.node, writes: true, life: 1 }],
  operations: [
    {
      key,
      token: 7 as Token,
      content: plainContent(Buffer.from('v'), 'text/plain'),
      context: undefined,
      ifMatch: undefined,
      ifAbsent: false,
      check: false,
    },
  ],
};

/** The branches of a node that starts with these branch records; undefined: damaged. */
async function startedWith(records: ReadonlyMap<Xid, Uint8Array | undefined>): Promise<Branches> {
  const found = [...records].map(([name, bytes]) => ({ name, bytes }));
  const context = {
    io: { clock: new TestClock(), log: new TestLog() },
    options: { readWaitUs: 1 },
    parts: {
      self,
      replica: { guard: () => undefined, mayExceedMark: false },
      ring: () => ({ placement: () => [self] }),
      pending: () => [],
    },
    log: {
      scan: (bucket: unknown) => Promise.resolve(bucket === branchBucket ? found : []),
      later: () => undefined,
    },
    metrics: { recovered: () => undefined },
  };
  const branches = new Branches(context as never);
  await recoverTransactions(context as never, branches, {} as never);
  return branches;
}

const prepared = (xid: Xid): Uint8Array =>
  present(writeBranch(xid, { state: 'prepared', sinceMs: 0, order, places: [] }).value, 'the record');

test('a branch whose record is damaged is not taken for one that never voted', async () => {
  const [damaged, rotten, unknown] = xids;
  const branches = await startedWith(
    new Map([
      [damaged, undefined],
      [rotten, Buffer.from('rotten')],
    ]),
  );
  expect(branches.all).toEqual([]);
  expect([damaged, rotten, unknown].map((xid) => branches.inquire(xid))).toEqual([
    'undecided',
    'undecided',
    'none',
  ]);
});

test('of two prepared records of one key each locks it until its coordinator has answered', async () => {
  const [first, second] = xids;
  const branches = await startedWith(new Map([first, second].map((xid) => [xid, prepared(xid)])));
  expect(branches.all.map(({ phase }) => phase)).toEqual(['prepared', 'prepared']);
  branches.rollback(first);
  expect([branches.all.map(({ xid }) => xid), branches.locks.holder(key)]).toEqual([[second], second]);
  branches.rollback(second);
  expect([branches.all, branches.locks.size]).toEqual([[], 0]);
});
