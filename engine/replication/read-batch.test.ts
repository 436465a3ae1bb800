/** Reads that are made together against reads that are made alone: over any answers, in any order, each ends alike. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { defaultProperties } from '../buckets/properties.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { plainContent } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, encodeObject } from '../replica/object/object.ts';
import { Replica } from '../replica/replica.ts';
import { describeObject } from './large-answers.ts';
import type { ReplyHandler } from './peer-links.ts';
import type { DispatchPlan } from './plan.ts';
import type { BatchedRead } from './read-batch.ts';
import { ReadBatch } from './read-batch.ts';
import { ReadBudget } from './read-budget.ts';
import { ReadSpread } from './read-spread.ts';
import type { FoundObject } from './read-many.ts';
import { decodeReads, FoundObjects, isOfVersion, sameObjectFound, unanswered } from './read-many.ts';
import { ReadRound } from './read-round.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';

const token = 0 as Token;
const timeoutUs = 1_000_000;
const rules = () => defaultProperties;
const members = [1, 2, 3].map((n): Member => ({
  node: `n${n}` as NodeId,
  datacenter: 'dc1',
  rack: `r${n}`,
  tokens: [token],
}));
const [self] = members as [Member];

function keyOf(name: string): PackedKey {
  return objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed;
}

function objectOf(text: string): Buffer {
  const content = plainContent(Buffer.from(text.repeat(20)), 'text/plain');
  return encodeObject(
    applyWrite(undefined, emptyVector, content, { actor: byteStringOf(text) as Actor, counter: 1 }, 0),
  );
}

const old = objectOf('old');
/** What a replica may hold, and its answers to a read of its own and to one of a batch. */
const replicas: Readonly<Record<string, { readonly alone: PeerReply; readonly joined: FoundObject }>> = {
  old: held(old),
  young: held(objectOf('young')),
  nothing: held(undefined),
  malformed: held(Buffer.from([9, 9])),
  large: {
    alone: { kind: 'object', object: undefined, described: describeObject(objectOf('large')) },
    joined: unanswered,
  },
  failed: failure('StorageFailed'),
  corrupt: failure('Corrupted'),
};

function held(object: Buffer | undefined): { readonly alone: PeerReply; readonly joined: FoundObject } {
  return { alone: { kind: 'object', object }, joined: { kind: 'object', bytes: object } };
}

function failure(code: 'StorageFailed' | 'Corrupted'): {
  readonly alone: PeerReply;
  readonly joined: FoundObject;
} {
  return { alone: { kind: 'failed', code, detail: 'no' }, joined: { kind: 'failed', code, message: 'no' } };
}

const plan: DispatchPlan = {
  kind: 'plan',
  targets: members.map((member) => ({ member, group: 0 })),
  groups: [{ datacenter: 'dc1', needed: 2 }],
  agree: false,
  failovers: 0,
};

/** Node n1 with its local objects, and peers that answer as the test says. */
class Harness {
  readonly clock = new TestClock();
  readonly stats = new NodeStats();
  readonly asked: string[] = [];
  readonly sent: { readonly request: PeerRequest; readonly peer: string; readonly onReply: ReplyHandler }[] =
    [];
  readonly seen: string[][];
  readonly failed: (() => readonly Member[])[] = [];
  readonly parts;
  isDown = false;

  constructor(locals: readonly (Uint8Array | undefined)[], hedgeMs = 0) {
    this.seen = locals.map(() => []);
    this.parts = {
      self,
      plane: {
        request: (peer: NodeId, request: PeerRequest, _: number, onReply: ReplyHandler): 'ok' | 'closed' => {
          if (this.isDown) return 'closed';
          this.asked.push(`${peer} ${request.kind}`);
          this.sent.push({ request, peer, onReply });
          return 'ok';
        },
      },
      replica: new Replica(
        {
          inMemory: () => 'elsewhere' as const,
          tryRead: (key, done) => {
            done(undefined, locals[locals.findIndex((_, index) => keyOf(`k${index}`) === key)]);
            return 'ok' as const;
          },
          tryReadDoubted: () => 'closed' as const,
          ...nothingLost,
          tryWrite: () => 'closed' as const,
        },
        this.clock,
        byteStringOf('n1') as Actor,
        rules,
      ),
      readBudget: new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 20),
      spread: new ReadSpread(self, { hedgeMs, repairPercent: 0 }),
      stats: this.stats,
      clock: this.clock,
      settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
      rules,
      peerIndex: () => 1,
    } as const;
  }

  /** Where the outcome of read `index` goes. */
  resultOf(index: number): Deferred<StoredObject | undefined> {
    const result = new Deferred<StoredObject | undefined>();
    const note = (text: string): void => void this.seen[index]?.push(text);
    result.promise.then(
      (object) =>
        note(object?.siblings.map(({ value }) => Buffer.from(value).toString()).join() ?? 'nothing'),
      (error: unknown) => note(error instanceof LockstepError ? `${error.code} ${error.message}` : 'odd'),
    );
    return result;
  }

  runAlone(count: number): void {
    for (let index = 0; index < count; index++) {
      const round = new ReadRound(this.parts, keyOf(`k${index}`), token, plan, this.resultOf(index));
      this.failed.push(() => round.failed);
      round.run(timeoutUs);
    }
  }

  runTogether(count: number): void {
    const reads = Array.from({ length: count }, (_, index): BatchedRead => {
      const result = this.resultOf(index);
      let failed: () => readonly Member[] = () => [];
      this.failed.push(() => failed());
      return {
        key: keyOf(`k${index}`),
        token,
        plan,
        get settled() {
          return result.settled;
        },
        resolve: (object) => result.resolve(object),
        reject: (error) => result.reject(error),
        continuedBy: (round) => (failed = () => round.failed),
      };
    });
    new ReadBatch(this.parts, reads).run(timeoutUs, this.clock.nowUs());
  }

  /** A peer answers all reads that it was asked for, as their replicas say. */
  answer(peer: string, holding: readonly string[]): void {
    for (const { request, onReply } of this.#taken(peer)) {
      if (request.kind === 'readObject')
        onReply(replicas[holding[indexOf(request.key)] ?? 'nothing']?.alone ?? { kind: 'pong' });
      if (request.kind !== 'readMany') continue;
      const reads = decodeReads(request.words);
      const all = new FoundObjects(reads.length);
      for (const [at, { key, version }] of reads.entries()) {
        const joined = replicas[holding[indexOf(key)] ?? 'nothing']?.joined ?? unanswered;
        const isSame = joined.kind === 'object' && joined.bytes && isOfVersion(joined.bytes, version);
        all.note(at, isSame === true ? sameObjectFound : joined);
      }
      onReply({ kind: 'readManyAnswered', words: all.encode() });
      // What the message did not answer is asked for alone, and answered.
      this.answer(peer, holding);
    }
  }

  say(peer: string, reply: PeerReply): void {
    for (const { onReply } of this.#taken(peer)) onReply(reply);
  }

  /** Takes the reads that a peer was asked for; fetches of large objects stay unanswered. */
  #taken(peer: string): typeof this.sent {
    const taken = this.sent.filter(
      (one) =>
        one.peer === peer &&
        (one.request.kind === 'readMany' ||
          (one.request.kind === 'readObject' && one.request.bytesMax !== undefined)),
    );
    for (const one of taken) this.sent.splice(this.sent.indexOf(one), 1);
    return taken;
  }
}

function indexOf(key: PackedKey): number {
  return [0, 1, 2].findIndex((index) => keyOf(`k${index}`) === key);
}

const holding = fc.constantFrom('old', 'old', 'old', 'old', ...Object.keys(replicas));
const three = fc.tuple(holding, holding, holding);

test('reads that are made together end as reads that are made alone, with the same repairs', async () => {
  const local = fc.constantFrom(old, old, old, objectOf('young'), undefined);
  const locals = fc.tuple(local, local, local);
  const order = fc.constantFrom(['n2', 'n3'], ['n3', 'n2'], ['n2'], []);
  await fc.assert(
    fc.asyncProperty(
      locals,
      three,
      three,
      order,
      fc.constantFrom(0, 20),
      async (own, second, third, peers, hedgeMs) => {
        const outcomes: unknown[] = [];
        for (const way of ['runAlone', 'runTogether'] as const) {
          const harness = new Harness(own, hedgeMs);
          harness[way](3);
          // From now on all targets are asked.
          if (hedgeMs > 0) harness.clock.advance(hedgeMs * 1000);
          for (const peer of peers) {
            harness.answer(peer, peer === 'n2' ? second : third);
            // The client has its answer after the same step.
            await Promise.resolve();
            for (const seen of harness.seen) seen.push(peer);
          }
          harness.clock.advance(timeoutUs);
          await Promise.resolve();
          const failed = harness.failed.map((of) => of().map(({ node }) => node));
          const repairs = harness.asked.filter((one) => one.includes('merge')).sort();
          outcomes.push({ seen: harness.seen, failed, repairs, counts: harness.stats.readRepairs });
        }
        expect(outcomes[1]).toEqual(outcomes[0]);
      },
    ),
    { numRuns: 100 },
  );
});

test('each other replica gets one message, and sends no object that this node holds', async () => {
  const harness = new Harness([old, old, undefined]);
  harness.runTogether(3);
  expect(harness.asked).toEqual(['n2 readMany', 'n3 readMany']);
  const versions = harness.sent.map(({ request }) =>
    request.kind === 'readMany' ? decodeReads(request.words).map(({ version }) => version.length > 0) : [],
  );
  expect(versions).toEqual([
    [true, true, false],
    [true, true, false],
  ]);
  harness.answer('n2', ['old', 'old', 'nothing']);
  await Promise.resolve();
  expect(harness.seen).toEqual([['old'.repeat(20)], ['old'.repeat(20)], ['nothing']]);
  harness.answer('n3', ['old', 'old', 'nothing']);
  harness.clock.advance(timeoutUs);
  expect(harness.asked).toHaveLength(2);
});

test('as many replicas as must answer get a message; another one if they are silent or differ', async () => {
  const harness = new Harness([old, old, old], 20);
  harness.runTogether(3);
  expect(harness.asked).toEqual(['n2 readMany']);
  harness.answer('n2', ['old', 'old', 'old']);
  await Promise.resolve();
  expect(harness.seen).toEqual([['old'.repeat(20)], ['old'.repeat(20)], ['old'.repeat(20)]]);
  harness.clock.advance(timeoutUs);
  expect(harness.asked).toHaveLength(1);

  const differing = new Harness([old, old, old], 20);
  differing.runTogether(3);
  differing.answer('n2', ['old', 'young', 'old']);
  expect(differing.asked.slice(1)).toEqual(['n3 readObject']);
  differing.answer('n3', ['old', 'old', 'old']);
  await Promise.resolve();
  expect(differing.seen.map(([text]) => text?.slice(0, 3))).toEqual(['old', 'you', 'old']);
  expect(differing.asked.slice(2)).toEqual(['n2 mergeObject', 'n3 mergeObject']);

  const silent = new Harness([old, old, old], 20);
  silent.runTogether(3);
  silent.clock.advance(20_000);
  expect(silent.asked).toEqual(['n2 readMany', 'n3 readMany']);
  silent.answer('n3', ['old', 'old', 'old']);
  await Promise.resolve();
  expect(silent.seen).toHaveLength(3);
  // The silent one is not waited for by the next reads.
  silent.runTogether(3);
  expect(silent.asked.slice(2)).toEqual(['n2 readMany', 'n3 readMany']);
});

test('an answer that does not decode, and a peer that is gone, fail all reads there', async () => {
  const harness = new Harness([old, old, old]);
  harness.runTogether(3);
  harness.say('n2', { kind: 'readManyAnswered', words: Buffer.from([3, 3]) });
  harness.say('n3', { kind: 'failed', code: 'PeerGone', detail: 'gone' });
  await Promise.resolve();
  expect(harness.seen.map(([text]) => text?.slice(0, 8))).toEqual(['Timeout ', 'Timeout ', 'Timeout ']);
  const alone = new Harness([old]);
  alone.isDown = true;
  alone.runTogether(1);
  await Promise.resolve();
  expect(alone.seen[0]?.[0]).toContain('the link to n2 is down');
});

test('a version that was never sent is no answer', async () => {
  const harness = new Harness([undefined]);
  harness.runTogether(1);
  harness.say('n2', { kind: 'readManyAnswered', words: Buffer.from([3]) });
  harness.answer('n3', ['old']);
  await Promise.resolve();
  expect(harness.seen).toEqual([['old'.repeat(20)]]);
});
