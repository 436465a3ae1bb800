import { describe, expect, it } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { present } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { Content } from '../replica/object/content.ts';
import { tombstone } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { encodeObject, applyWrite } from '../replica/object/object.ts';
import { defaultProperties } from '../buckets/properties.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { describeObject } from './large-answers.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import { planRead } from './plan.ts';
import { ReadBudget, ReadShare } from './read-budget.ts';
import { ReadSpread } from './read-spread.ts';
import { ReadRound } from './read-round.ts';
import type { ConsistencyLevel } from './requests.ts';
import { Replica } from '../replica/replica.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';

const token = 0 as Token;
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const timeoutUs = 1_000_000;

function member(node: string, datacenter: string, rack: string): Member {
  return { node: node as NodeId, datacenter, rack, tokens: [token] };
}

/** The reader's datacenter has one rack, a remote one has three. */
const ring = new Ring([
  member('a1', 'east', 'r1'),
  ...['b1', 'b2', 'b3'].map((node, index) => member(node, 'west', `r${index + 1}`)),
]);
const reader = member('c1', 'north', 'r1');

/** Peers whose answers the test gives. */
class Peers implements PeerLinks {
  readonly asked: string[] = [];
  readonly closed = new Set<string>();
  readonly #waiting = new Map<string, ReplyHandler>();

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' | 'closed' {
    if (this.closed.has(peer)) return 'closed';
    this.asked.push(`${peer} ${request.kind}`);
    this.#waiting.set(peer, onReply);
    return 'ok';
  }

  answer(peer: string, reply: PeerReply): void {
    const onReply = this.#waiting.get(peer);
    if (onReply === undefined) throw new Error(`${peer} was not asked`);
    onReply(reply);
  }
}

class Far {
  readonly peers = new Peers();
  readonly clock = new TestClock();
  readonly stats = new NodeStats();
  readonly budget = new ReadBudget({ enabled: () => false, event: () => undefined }, 2 ** 20);
  /** The error text, if the read failed. */
  detail = '';
  readonly outcome: Promise<string>;

  constructor(
    away: readonly string[],
    closed: readonly string[] = [],
    level: ConsistencyLevel = 'DC_EACH_SAFE_QUORUM',
    self = reader,
    standby: readonly string[] = [],
  ) {
    for (const peer of closed) this.peers.closed.add(peer);
    const rackCount = (datacenter: string): number => ring.rackCount(datacenter);
    const view = {
      self,
      rackCount,
      isRoutable: (one: Member) => !away.includes(one.node),
      isStandby: (one: Member) => standby.includes(one.node),
    };
    const plan = planRead(view, ring.placement(token), level, 'default');
    if (plan.kind === 'refused') throw new Error(plan.detail);
    const rules = () => ({ ...defaultProperties, allowMult: true });
    const refusing: MemoryStore = {
      inMemory: () => 'elsewhere',
      tryRead: () => 'closed',
      tryReadDoubted: () => 'closed',
      ...nothingLost,
      tryWrite: () => 'closed',
    };
    const parts = {
      self,
      plane: this.peers,
      replica: new Replica(refusing, this.clock, byteStringOf('c1') as Actor, rules),
      readBudget: this.budget,
      spread: new ReadSpread(self, { hedgeMs: 0, repairPercent: 100 }),
      stats: this.stats,
      clock: this.clock,
      settings: { readLevel: level, writeLevel: 'DC_QUORUM', timeoutMs: 1000 },
      rules,
      peerIndex: () => 1,
    } as const;
    const result = new Deferred<StoredObject | undefined>();
    new ReadRound(parts, key, token, plan, result).run(timeoutUs);
    this.outcome = result.promise.then(
      (object) => (object === undefined ? 'nothing' : 'an object'),
      (error: unknown) => {
        this.detail = String(error);
        return error instanceof LockstepError ? error.code : this.detail;
      },
    );
  }

  get failovers(): number {
    return this.stats.pool.remote_peer_failover_requests;
  }
}

const nothing = (): void => undefined;
const none: PeerReply = { kind: 'object', object: undefined };
const failed: PeerReply = { kind: 'failed', code: 'StorageFailed', detail: 'no' };

function objectOf(text: string): Buffer {
  const content: Content = { ...tombstone, tombstone: false, value: Buffer.from(text) };
  const dot = { actor: byteStringOf(text) as Actor, counter: 1 };
  return encodeObject(applyWrite(undefined, emptyVector, content, dot, 0));
}

describe('a read across datacenters', () => {
  it('asks only as many racks of another datacenter as must answer', async () => {
    const far = new Far([]);
    for (const peer of ['a1', 'b1', 'b2']) far.peers.answer(peer, none);
    expect(await far.outcome).toBe('nothing');
    far.clock.advance(timeoutUs);
    expect(far.peers.asked).toEqual(['a1 readObject', 'b1 readObject', 'b2 readObject']);
    expect(far.failovers).toBe(0);
  });

  it('plans another rack for one that is unroutable, and counts the failover', async () => {
    const far = new Far(['b1']);
    for (const peer of ['a1', 'b2', 'b3']) far.peers.answer(peer, none);
    expect(await far.outcome).toBe('nothing');
    expect(far.failovers).toBe(1);
  });

  it('asks another rack at once when one fails or cannot be reached', async () => {
    const failing = new Far([]);
    failing.peers.answer('b2', failed);
    for (const peer of ['a1', 'b1', 'b3']) failing.peers.answer(peer, none);
    expect(await failing.outcome).toBe('nothing');
    expect(failing.failovers).toBe(1);

    const closed = new Far([], ['b1']);
    for (const peer of ['a1', 'b2', 'b3']) closed.peers.answer(peer, none);
    expect(await closed.outcome).toBe('nothing');
    expect(closed.failovers).toBe(1);
  });

  it('asks the other racks when the preferred ones are silent for a quarter of the timeout', async () => {
    const far = new Far([]);
    far.peers.answer('a1', none);
    far.peers.answer('b1', none);
    far.clock.advance(timeoutUs / 4 - 1);
    expect(far.peers.asked).toHaveLength(3);
    far.clock.advance(1);
    expect(far.peers.asked).toHaveLength(4);
    far.peers.answer('b3', none);
    expect(await far.outcome).toBe('nothing');
    expect(far.failovers).toBe(1);
  });

  it('asks a third rack when two disagree, which is no failover, and repairs the stale one', async () => {
    const far = new Far([]);
    const object = objectOf('x');
    far.peers.answer('a1', { kind: 'object', object });
    far.peers.answer('b1', { kind: 'object', object });
    far.peers.answer('b2', none);
    far.peers.answer('b3', { kind: 'object', object });
    expect(await far.outcome).toBe('an object');
    expect(far.failovers).toBe(0);
    expect(far.peers.asked.slice(3)).toEqual(['b3 readObject', 'b2 mergeObject']);
  });

  it('fails when too few are left', async () => {
    const far = new Far(['b3']);
    far.peers.answer('b1', failed);
    expect(await far.outcome).toBe('NoQuorum');
  });
});

describe('a read beside a replica in STANDBY', () => {
  const near = present(ring.member('b2' as NodeId), 'a member');

  it('asks it when the others are too few, and that is no failover to another datacenter', async () => {
    const far = new Far(['b2'], [], 'DC_QUORUM', near, ['b1']);
    expect(far.peers.asked).toEqual(['b3 readObject', 'b1 readObject']);
    for (const peer of ['b3', 'b1']) far.peers.answer(peer, none);
    expect(await far.outcome).toBe('nothing');
    expect(far.failovers).toBe(0);
  });

  it('asks it once another one has failed, or has been silent for a quarter of the time, and not before', async () => {
    for (const silent of [false, true]) {
      const far = new Far([], [], 'DC_QUORUM', { ...near, node: 'b9' as NodeId }, ['b1']);
      expect(far.peers.asked).toEqual(['b2 readObject', 'b3 readObject']);
      far.peers.answer('b2', none);
      if (silent) far.clock.advance(timeoutUs / 4);
      else far.peers.answer('b3', failed);
      expect(far.peers.asked.slice(2)).toEqual(['b1 readObject']);
      far.peers.answer('b1', none);
      expect(await far.outcome).toBe('nothing');
      expect(far.failovers).toBe(0);
    }
  });
});

describe('a read of large objects', () => {
  /** The budget fits all of it, unless another read holds a part. */
  function far(): Far {
    return new Far(['b3']);
  }

  function described(object: Buffer): PeerReply {
    return { kind: 'object', object: undefined, described: describeObject(object) };
  }

  const old = objectOf('old');
  const young = objectOf('new');

  it('fetches one of several equal objects, and counts all as equal', async () => {
    const read = far();
    for (const peer of ['a1', 'b1', 'b2']) read.peers.answer(peer, described(old));
    expect(read.peers.asked.slice(3)).toEqual(['a1 readObject']);
    read.peers.answer('a1', { kind: 'object', object: old });
    expect(await read.outcome).toBe('an object');
    expect(read.peers.asked.slice(4)).toEqual([]);
  });

  it('treats a target as silent until its object has arrived', async () => {
    const read = far();
    for (const peer of ['a1', 'b1', 'b2']) read.peers.answer(peer, described(old));
    read.clock.advance(timeoutUs);
    expect(await read.outcome).toBe('Timeout');
  });

  it('fetches differing objects too: disagreeing replicas of a datacenter are no answer, and are repaired', async () => {
    const read = far();
    read.peers.answer('a1', described(young));
    read.peers.answer('b1', described(young));
    read.peers.answer('b2', described(old));
    read.peers.answer('a1', { kind: 'object', object: young });
    expect(read.peers.asked.slice(3)).toEqual(['a1 readObject', 'b2 readObject']);
    read.peers.answer('b2', { kind: 'object', object: old });
    expect(await read.outcome).toBe('ReplicasDisagree');
    // Each lacks the other's value: the two were written concurrently.
    expect(read.peers.asked.slice(5)).toEqual(['a1 mergeObject', 'b1 mergeObject', 'b2 mergeObject']);
  });

  it('fails a target that describes its object again when asked to send it', async () => {
    const read = far();
    read.peers.answer('a1', none);
    for (const peer of ['b1', 'b2']) read.peers.answer(peer, described(old));
    read.peers.answer('b1', described(old));
    read.peers.answer('b2', described(old));
    expect(await read.outcome).toBe('NoQuorum');
  });

  it('names the budget in its error when it times out waiting for it', async () => {
    const read = far();
    new ReadShare(read.budget, nothing, nothing).enter(2 ** 20);
    for (const peer of ['a1', 'b1', 'b2']) read.peers.answer(peer, described(old));
    read.clock.advance(timeoutUs);
    expect(await read.outcome).toBe('Timeout');
    expect(read.detail).toContain('client_read_bytes_max');
    expect(read.budget.waiting).toBe(0);
  });

  it('releases the budget while it waits for a silent replica, and repairs the others', async () => {
    const read = new Far([], [], 'DC_QUORUM', member('b0', 'west', 'r1'));
    read.peers.answer('b1', described(old));
    read.peers.answer('b1', { kind: 'object', object: old });
    read.peers.answer('b2', none);
    expect(await read.outcome).toBe('an object');
    expect(read.peers.asked.slice(3)).toEqual(['b1 readObject']);
    new ReadShare(read.budget, nothing, nothing).enter(2 ** 20);
    expect(read.peers.asked.slice(4)).toEqual(['b2 mergeObject']);
    expect(read.budget.heldBytes).toBe(2 ** 20);
    read.peers.answer('b3', described(young));
    expect(read.peers.asked.slice(5)).toEqual([]);
  });
});
