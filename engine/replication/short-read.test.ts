/** The short way of a read against the general one: over any answers, in any order, both do the same. */
import fc from 'fast-check';
import { expect, it } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { defaultProperties } from '../buckets/properties.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { tombstone } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, encodeObject } from '../replica/object/object.ts';
import { Replica } from '../replica/replica.ts';
import { describeObject } from './large-answers.ts';
import type { ReplyHandler } from './peer-links.ts';
import type { DispatchPlan } from './plan.ts';
import { ReadBudget } from './read-budget.ts';
import { ReadSpread } from './read-spread.ts';
import { versionToSend } from './read-many.ts';
import { ReadRound } from './read-round.ts';
import { isShort, ShortRead } from './short-read.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';

const token = 0 as Token;
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const timeoutUs = 1_000_000;
const self: Member = { node: 'n0' as NodeId, datacenter: 'dc1', rack: 'r0', tokens: [token] };

function objectOf(text: string, actor = text.slice(0, 5)): Buffer {
  const content = { ...tombstone, tombstone: false, value: Buffer.from(text) };
  const dot = { actor: byteStringOf(actor) as Actor, counter: 1 };
  return encodeObject(applyWrite(undefined, emptyVector, content, dot, 0));
}

const old = objectOf('old');
const young = objectOf('young');
const answers: Readonly<Record<string, PeerReply>> = {
  old: { kind: 'object', object: old },
  young: { kind: 'object', object: young },
  nothing: { kind: 'object', object: undefined },
  large: { kind: 'object', object: undefined, described: describeObject(young) },
  malformed: { kind: 'object', object: Buffer.from([9, 9]) },
  failed: { kind: 'failed', code: 'StorageFailed', detail: 'no' },
  corrupt: { kind: 'failed', code: 'Corrupted', detail: 'rotten' },
};

/** What one way does with a read, step by step. */
async function run(
  Way: typeof ReadRound | typeof ShortRead,
  plan: DispatchPlan,
  steps: readonly Step[],
  hedgeMs = 0,
): Promise<unknown> {
  const clock = new TestClock();
  const stats = new NodeStats();
  const asked: string[] = [];
  const waiting = new Map<string, ReplyHandler[]>();
  const parts = {
    self,
    plane: {
      request: (peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' => {
        asked.push(`${peer} ${request.kind}`);
        waiting.set(peer, [...(waiting.get(peer) ?? []), onReply]);
        return 'ok';
      },
    },
    replica: new Replica(
      {
        inMemory: () => 'elsewhere',
        tryRead: () => 'closed',
        tryReadDoubted: () => 'closed',
        ...nothingLost,
        tryWrite: () => 'closed',
      },
      clock,
      byteStringOf('n0') as Actor,
      () => defaultProperties,
    ),
    readBudget: new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 20),
    spread: new ReadSpread(self, { hedgeMs, repairPercent: 0 }),
    stats,
    clock,
    settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
    rules: () => defaultProperties,
    peerIndex: () => 1,
  } as const;
  const result = new Deferred<StoredObject | undefined>();
  const round = new Way(parts, key, token, plan, result);
  const seen: unknown[] = [];
  round.run(timeoutUs);
  if (hedgeMs > 0) clock.advance(hedgeMs * 1000);
  const over = result.promise.then(
    (object) => seen.push(object?.siblings.map(({ value }) => Buffer.from(value).toString()) ?? 'nothing'),
    (error: unknown) => seen.push(error instanceof LockstepError ? `${error.code} ${error.message}` : error),
  );
  for (const { target, answer } of steps) {
    const peer = `n${target + 1}`;
    const [onReply, ...rest] = waiting.get(peer) ?? [];
    waiting.set(peer, rest);
    onReply?.(answers[answer] ?? { kind: 'written' });
    // The client has its answer after the same step.
    await Promise.resolve();
    seen.push(asked.length);
  }
  clock.advance(timeoutUs);
  await over;
  asked.sort();
  return { seen, asked, failed: round.failed.map(({ node }) => node), repairs: stats.readRepairs };
}

interface Step {
  readonly target: number;
  readonly answer: string;
}

const step = fc.record({
  target: fc.nat(4),
  answer: fc.constantFrom('old', 'old', 'old', 'young', ...Object.keys(answers)),
});

it('both ways do the same with any answers in any order, once all targets are asked', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.nat(4),
      fc.array(step, { maxLength: 10 }),
      fc.constantFrom(0, 20),
      async (copies, needed, steps, hedgeMs) => {
        const members = Array.from({ length: copies }, (_, index): Member => {
          return { ...self, node: `n${index + 1}` as NodeId, rack: `r${index + 1}` };
        });
        const plan: DispatchPlan = {
          kind: 'plan',
          targets: members.map((member) => ({ member, group: 0 })),
          groups: [{ datacenter: 'dc1', needed: 1 + (needed % copies) }],
          agree: false,
          failovers: 0,
        };
        expect(isShort(plan)).toBe(true);
        const short = await run(ShortRead, plan, steps, hedgeMs);
        expect(short).toEqual(await run(ReadRound, plan, steps, hedgeMs));
      },
    ),
    { numRuns: 400 },
  );
});

it('plans whose answers must be equal, or some of whose targets are held back, go the general way', () => {
  const targets = [{ member: self, group: 0 }];
  const plan: DispatchPlan = {
    kind: 'plan',
    ...{ targets, groups: [{ datacenter: 'dc1', needed: 1 }], agree: false, failovers: 0 },
  };
  expect(isShort({ ...plan, agree: true })).toBe(false);
  expect(isShort({ ...plan, targets: [...targets, { member: self, group: 0, held: true }] })).toBe(false);
  expect(isShort({ ...plan, targets: [{ member: self, group: -1 }] })).toBe(false);
});

it('tells the peers the version that this node holds, and takes "the same" for its own object', async () => {
  const clock = new TestClock();
  const requests: PeerRequest[] = [];
  const handlers: ReplyHandler[] = [];
  const long = objectOf('long'.repeat(30));
  const [n1, n2] = ['n1', 'n2'].map((node): Member => ({ ...self, node: node as NodeId, rack: node }));
  const plan: DispatchPlan = {
    kind: 'plan',
    targets: [n1, self, n2].map((member) => ({ member: member ?? self, group: 0 })),
    groups: [{ datacenter: 'dc1', needed: 2 }],
    agree: false,
    failovers: 0,
  };
  const result = new Deferred<StoredObject | undefined>();
  const parts = {
    self,
    plane: {
      request: (_peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' => {
        requests.push(request);
        handlers.push(onReply);
        return 'ok';
      },
    },
    replica: new Replica(
      {
        inMemory: () => 'elsewhere',
        tryRead: (_key, done) => {
          done(undefined, long);
          return 'ok';
        },
        tryReadDoubted: () => 'closed',
        ...nothingLost,
        tryWrite: () => 'closed',
      },
      clock,
      byteStringOf('n0') as Actor,
      () => defaultProperties,
    ),
    readBudget: new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 20),
    spread: new ReadSpread(self, { hedgeMs: 0, repairPercent: 100 }),
    stats: new NodeStats(),
    clock,
    settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
    rules: () => defaultProperties,
    peerIndex: () => 1,
  } as const;
  new ShortRead(parts, key, token, plan, result).run(timeoutUs);
  const version = versionToSend(long);
  expect(version).toBeDefined();
  expect(requests.map((one) => one.kind === 'readObject' && one.version)).toEqual([version, version]);
  handlers[1]?.({ kind: 'object', object: undefined, same: true });
  expect((await result.promise)?.siblings.map(({ value }) => value.length)).toEqual([120]);
});
