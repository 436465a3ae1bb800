import { expect, test } from 'vitest';

import { TestClock, TestLog } from '../../api/testing/test-io.fixture.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import { makeXid } from '../formats/xid.fixture.ts';
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
