/**
 * A write whose key gets new owners while it is under way: their copies count as for a write that starts after the
 * change.
 */
import { describe, expect, it } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import type { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { tombstone } from '../replica/object/content.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { KeyPlacement } from '../cluster/ring/key-placement.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import { planWrite } from './plan.ts';
import type { WriteListener } from '../replica/replica.ts';
import { WriteRound } from './write-round.ts';

const token = 0 as Token;
const timeoutUs = 1_000_000;
const written: PeerReply = { kind: 'written' };
const failed: PeerReply = { kind: 'failed', code: 'StorageFailed', detail: 'no room' };

function member(node: string, rack: string, datacenter = 'd'): Member {
  return { node: node as NodeId, datacenter, rack, tokens: [token] };
}

const members = [member('a1', 'r1'), member('a2', 'r2'), member('a3', 'r3')];

/** A write at a1 whose owners change after it has been sent. */
class Harness implements PeerLinks {
  readonly #waiting = new Map<string, ReplyHandler>();
  readonly hinted: string[] = [];
  pending: readonly Member[] = [];
  outcome = 'open';
  #listener: WriteListener | undefined;

  /** `isRead`: the key is read before the write is applied; `apply` does that. */
  constructor(away: readonly string[] = [], isRead = false) {
    const [self = member('', '')] = members;
    const ring = new Ring(members);
    const view = {
      self,
      rackCount: (datacenter: string): number => ring.rackCount(datacenter),
      isRoutable: (one: Member): boolean => !away.includes(one.node),
      isStandby: (): boolean => false,
    };
    const plan = planWrite(view, ring.placement(token), 'DC_QUORUM', 'default');
    if (plan.kind === 'refused') throw new Error(plan.detail);
    const parts = {
      self,
      ring: () => ring,
      pending: () => this.pending,
      clock: new TestClock(),
      hints: { keep: (peer: NodeId) => void this.hinted.push(peer) },
      plane: this,
      stats: new NodeStats(),
      peerIndex: () => 1,
      replica: {
        coordinate: (_: unknown, listener: WriteListener): 'ok' => {
          this.#listener = listener;
          if (!isRead) this.apply();
          return 'ok';
        },
      },
    };
    const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
    const write = {
      key,
      token,
      seen: emptyVector,
      content: tombstone,
      ifNoneMatch: false,
      ifContext: undefined,
    };
    const end = {
      acknowledged: (): void => void (this.outcome = 'acknowledged'),
      failed: (error: LockstepError): void => void (this.outcome = error.code),
    };
    new WriteRound(parts, write, new KeyPlacement(token, ring), plan, end).run(timeoutUs);
  }

  apply(): void {
    this.#listener?.applied({ context: emptyVector, siblings: [] }, Buffer.from('object'));
  }

  get asked(): readonly string[] {
    return [...this.#waiting.keys()];
  }

  request(peer: NodeId, _request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' {
    this.#waiting.set(peer, onReply);
    return 'ok';
  }

  async hear(peer: string, reply: PeerReply = written): Promise<string> {
    if (peer === 'a1') this.#listener?.durable();
    else this.#waiting.get(peer)?.(reply);
    await Promise.resolve();
    await Promise.resolve();
    return this.outcome;
  }
}

describe('a write whose owners change while it is under way', () => {
  it('asks the new owner too, and waits for one more copy', async () => {
    const harness = new Harness();
    expect(await harness.hear('a1')).toBe('open');
    harness.pending = [member('j', 'r1')];
    expect(harness.asked).toEqual(['a2', 'a3']);
    expect(await harness.hear('a2')).toBe('open');
    expect(harness.asked).toEqual(['a2', 'a3', 'j']);
    expect(await harness.hear('j')).toBe('acknowledged');
  });

  it('asks a new owner, too, that came while the key was read from the disk', async () => {
    const harness = new Harness([], true);
    harness.pending = [member('j', 'r1')];
    harness.apply();
    expect(await harness.hear('a1')).toBe('open');
    expect(await harness.hear('a2')).toBe('open');
    expect(harness.asked).toEqual(['a2', 'a3', 'j']);
    expect(await harness.hear('j')).toBe('acknowledged');
  });

  it('is acknowledged without the new owner if the old owners suffice', async () => {
    const harness = new Harness();
    await harness.hear('a1');
    harness.pending = [member('j', 'r1')];
    await harness.hear('a2');
    expect(await harness.hear('a3')).toBe('acknowledged');
  });

  it('stores a hint for a new owner that does not take it', async () => {
    const harness = new Harness();
    await harness.hear('a1');
    harness.pending = [member('j', 'r1')];
    await harness.hear('a2');
    expect(await harness.hear('j', failed)).toBe('open');
    expect(harness.hinted).toEqual(['j']);
    expect(await harness.hear('a3')).toBe('acknowledged');
  });

  it('does not wait for a new owner in a datacenter that the level does not name', async () => {
    const harness = new Harness();
    await harness.hear('a1');
    harness.pending = [member('f', 'r1', 'far')];
    expect(await harness.hear('a2')).toBe('acknowledged');
  });

  it('does not ask a replica again that was unroutable at the beginning', async () => {
    const harness = new Harness(['a3']);
    expect(harness.hinted).toEqual(['a3']);
    await harness.hear('a1');
    expect(await harness.hear('a2')).toBe('acknowledged');
    expect(harness.asked).toEqual(['a2']);
  });
});
