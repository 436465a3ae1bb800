import { expect, test } from 'vitest';

import { settle, TestClock } from '../../api/testing/test-io.fixture.ts';
import { LockstepError } from '../../base/errors.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { RetentionClock } from '../../base/retention-clock.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { Pauses } from '../../io/pauses.ts';
import type { PeerReply } from '../../peer/wire/messages.ts';
import type { PeerLinks } from '../../replication/peer-links.ts';
import { roundPartsOf } from '../../replication/round-parts.fixture.ts';
import type { Actor } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite } from '../../replica/object/object.ts';
import { contentOf, keyOf, SlowStore } from '../../replica/replica-harness.fixture.ts';
import { makeXid } from '../formats/xid.fixture.ts';
import { Branch } from '../participant/branch.ts';
import { spreadBranch } from './branch-requests.ts';

const [n1, n2] = ['n1', 'n2'].map((node, index) => ({
  node: node as NodeId,
  datacenter: 'dc1',
  rack: `r${index}`,
  tokens: [(index * 0x8000_0000) as Token],
})) as [Harness['self'], Harness['self']];
const places = ['k', 'l'].map((name) => ({ key: keyOf(name), token: 7 as Token }));
const object = applyWrite(undefined, [], contentOf('v'), { actor: 'n1.aa' as Actor, counter: 1 }, 1);
const order = {
  coordinator: 'n3' as NodeId,
  level: 'DC_QUORUM',
  clientId: '',
  clientDigest: byteStringOf(''),
  branches: [{ node: 'n1' as NodeId, writes: true, life: 1 }],
  operations: [],
} as const;

/** n1, which has applied a branch of two keys, and whose store gives the answers of `reads`, one after the other. */
class Harness {
  readonly self = { node: 'n1' as NodeId, datacenter: 'dc1', rack: 'r0', tokens: [0 as Token] };
  readonly clock = new TestClock();
  readonly branch = new Branch(makeXid(n1.node, '0123456789ab', 1), order, places, 0, 'applied', 0);
  readonly pauses = new Pauses(this.clock);
  sent: string[] = [];
  isSent: boolean | undefined;
  isMet: boolean | LockstepError | undefined;

  constructor(
    ...reads: readonly (readonly [LockstepError | undefined, readonly (StoredObject | undefined)[]])[]
  ) {
    const plane: PeerLinks = {
      request: (peer, request, _timeoutUs, onReply) => {
        this.sent.push(`${request.kind} to ${peer}`);
        onReply({ kind: 'written' } satisfies PeerReply);
        return 'ok';
      },
    };
    const left = [...reads];
    const node = { self: n1, ring: new Ring([n1, n2]), plane, store: new SlowStore(), clock: this.clock };
    const parts = roundPartsOf(node);
    parts.replica.newest = (_places, done) => {
      const [error, objects] = left.shift() ?? expect.fail('the store is read too often');
      done(error, objects);
    };
    const follow = { follow: () => undefined };
    const retention = new RetentionClock(this.clock);
    const context = { parts, pauses: this.pauses, retention, spread: follow, batches: follow };
    spreadBranch(context, this.branch).then(
      (isSent) => (this.isSent = isSent),
      (error: unknown) => expect.fail(String(error)),
    );
  }

  async settle(): Promise<void> {
    await settle();
    this.isMet ??= await Promise.race([this.branch.applying, Promise.resolve(undefined)]);
  }
}

test('an applied branch is sent although the store was too busy to read it at first', async () => {
  const harness = new Harness([new LockstepError('Overloaded'), []], [undefined, [object, object]]);
  await harness.settle();
  expect([harness.isSent, harness.sent]).toEqual([undefined, []]);
  harness.clock.advance(500_000);
  await harness.settle();
  expect([harness.isSent, harness.isMet, harness.sent]).toEqual([true, true, ['mergeBatch to n2']]);
});

test('a stop ends the wait for a busy store', async () => {
  const harness = new Harness([new LockstepError('Overloaded'), []]);
  await harness.settle();
  harness.pauses.stop();
  await harness.settle();
  expect([harness.isSent, harness.isMet, harness.sent]).toEqual([false, false, []]);
});

test('of a branch with a lost copy the others are sent, and its level counts as not met', async () => {
  const harness = new Harness([new LockstepError('Corrupted'), [object, undefined]]);
  await harness.settle();
  expect([harness.isSent, harness.isMet, harness.sent]).toEqual([true, false, ['mergeObject to n2']]);
});

test('a branch of which nothing is here any more is not sent', async () => {
  const harness = new Harness([undefined, [undefined, undefined]]);
  await harness.settle();
  expect([harness.isSent, harness.isMet, harness.sent]).toEqual([false, false, []]);
});
