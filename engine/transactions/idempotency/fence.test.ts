/** Fences that are repeated because they stay in doubt. */
import { expect, test } from 'vitest';

import { TestClock, TestLog, settle } from '../../api/testing/test-io.fixture.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import type { Xid } from '../formats/xid.ts';
import { Fences } from './fence.ts';

const self = { node: 'n1' as NodeId, datacenter: 'd', rack: 'r', tokens: [0 as Token] };

/** The fences of n1, which never succeed. `asked` gets the attempts. */
function fencesInDoubt(clock: TestClock, asked: Xid[], unsettledMax?: number): Fences {
  const context = {
    io: { clock, log: new TestLog(), spawn: (_: string, task: () => unknown) => void task() },
    options: { retentionMs: 1_000_000 },
    parts: {
      self,
      ring: () => ({ placement: () => [self] }),
      pending: () => [],
      handedOver: () => true,
      settings: { timeoutMs: 100 },
    },
  } as never;
  return new Fences(
    context,
    ({ xid }) => {
      asked.push(xid);
      throw new LockstepError('Overloaded', 'not now');
    },
    {
      keepAs: () => undefined,
      keepUnknown: () => undefined,
      repeated: ({ xid }) => ({ kind: 'inDoubt', xid }),
    },
    unsettledMax,
  );
}

async function settleAll(fences: Fences, xids: readonly Xid[]): Promise<void> {
  for (const xid of xids) {
    const attempt = { clientId: xid, clientDigest: '' as ByteString, tokens: [1 as Token] };
    await fences.settle(attempt, { kind: 'aborted', xid, reason: 'conflict', detail: '' }, 1000);
  }
}

function xidsOf(count: number): readonly Xid[] {
  return Array.from({ length: count }, (_, index) => makeXid(self.node, '0123456789ab', index + 1));
}

test('every abort in doubt is fenced again in turn, however many wait for a member that is away', async () => {
  const asked: Xid[] = [];
  const fences = fencesInDoubt(new TestClock(), asked);
  const xids = xidsOf(100);
  await settleAll(fences, xids);
  asked.length = 0;
  for (let tick = 0; tick < 2; tick++) {
    fences.tick();
    await settle();
  }
  expect(new Set(asked)).toEqual(new Set(xids));
  expect(asked).toHaveLength(128);
});

test('of too many aborts in doubt the oldest are given up, not the newest', async () => {
  const asked: Xid[] = [];
  const clock = new TestClock();
  const fences = fencesInDoubt(clock, asked, 100);
  const xids = xidsOf(110);
  for (const xid of xids) {
    await settleAll(fences, [xid]);
    clock.advance(1);
  }
  asked.length = 0;
  for (let tick = 0; tick < 2; tick++) {
    fences.tick();
    await settle();
  }
  expect(new Set(asked)).toEqual(new Set(xids.slice(10)));
});
