import { expect, test } from 'vitest';

import { TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import { present } from '../../base/assert.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import { readBranch } from '../formats/records.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import { Branch, recordOf } from './branch.ts';
import { Branches } from './branches.ts';

const self = { node: 'n1' as NodeId };
const xid = makeXid(self.node, '0123456789ab', 1);
const order: PrepareRequest = {
  coordinator: self.node,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: self.node, writes: true, life: 1 }],
  operations: [
    {
      key: objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed,
      token: 7 as Token,
      content: plainContent(Buffer.from('v'), 'text/plain'),
      context: undefined,
      ifMatch: undefined,
      ifAbsent: false,
      check: false,
    },
  ],
};

test('a branch that is rolled back while its keys are read for a redo is not applied', async () => {
  const context = {
    io: { clock: new TestClock(), log: new TestLog() },
    options: { readWaitUs: 1 },
    parts: {
      self,
      settings: { timeoutMs: 1 },
      unread: () => false,
      replica: {
        guard: () => undefined,
        newest: (_: unknown, done: (error: undefined, objects: readonly undefined[]) => void) => {
          branches.rollback(xid);
          done(undefined, [undefined]);
        },
      },
    },
  };
  const branches: Branches = new Branches(context as never);
  const reply = await branches.redo(xid, order, '');
  expect(reply).toEqual(new LockstepError('Conflict', 'it was rolled back here'));
  expect(branches.all).toEqual([]);
});

test('a rollback is not mixed with an operator’s commit of a branch that only checks, also after a restart', () => {
  const reported: string[] = [];
  const context = {
    io: { clock: new TestClock(), log: new TestLog() },
    options: { readWaitUs: 1 },
    parts: { self, replica: { guard: () => undefined } },
    log: { later: () => undefined },
    metrics: { decidedByOperator: (decision: string) => reported.push(decision) },
  };
  for (const check of [true, false]) {
    const asked = { ...order, operations: order.operations.map((one) => ({ ...one, check })) };
    const places = asked.operations.map(({ key, token }) => ({ key, token }));
    const decided = recordOf(new Branch(xid, asked, places, 0, 'prepared', 0), 'heuristicCommitted');
    const branches = new Branches(context as never);
    branches.restore(xid, readBranch(present(decided.value, 'the record')));
    branches.rollback(xid);
    expect(branches.all).toEqual([]);
    expect(reported).toEqual(check ? [] : ['mixed']);
  }
});

test('the record of an applied branch names the other branches, which may have to learn the outcome from it', () => {
  const others = { ...order, branches: [...order.branches, { node: 'n2' as NodeId, writes: true, life: 2 }] };
  const places = order.operations.map(({ key, token }) => ({ key, token }));
  const branch = new Branch(xid, others, places, 0, 'prepared', 0);
  for (const state of ['applied', 'heuristicCommitted', 'heuristicRolledBack'] as const) {
    const record = readBranch(present(recordOf(branch, state).value, 'the record'));
    expect(record).toEqual({ state, sinceMs: 0, order: { ...others, operations: [] }, places });
  }
});
