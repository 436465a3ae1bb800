/** The reaper: what the starting member asks of the others, and what each of them answers. */
import { beforeEach, describe, expect, it } from 'vitest';

import { TestClock, TestLog, settle } from '../../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Content } from '../../replica/object/content.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { emptyVector } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite, encodeObject } from '../../replica/object/object.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import type { PeerLinks, ReplyHandler } from '../peer-links.ts';
import type { Holding, ReapItem } from '../../replica/reap-messages.ts';
import {
  decodeHoldings,
  decodeReapQuestion,
  encodeHoldings,
  encodeReapQuestion,
  markOf,
} from '../../replica/reap-messages.ts';
import { Reaper } from './reaper.ts';

const token = 0 as Token;
const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
const intervalUs = 1_000_000;
const graceMs = 5000;

function member(node: string, rack: string): Member {
  return { node: node as NodeId, datacenter: 'd', rack, tokens: [token] };
}

const members = [member('a1', 'r1'), member('a2', 'r2'), member('a3', 'r3')];
const value: Content = { ...tombstone, tombstone: false };

/** A member that is the first owner of the one key. Its peers answer as the test says. */
class Harness implements PeerLinks {
  readonly clock = new TestClock();
  readonly reaper: Reaper;
  readonly away = new Set<string>();
  /** The answer of each peer from now on. */
  readonly holds = new Map<string, Holding>([
    ['a2', 'same'],
    ['a3', 'same'],
  ]);
  /** Every question since the last call of `rounds`. */
  #asked: string[] = [];
  #stored: (key: PackedKey, token: Token, object: StoredObject) => void = () => undefined;
  #bytes: Uint8Array | undefined;
  #counter = 0;
  oldestRequestUs: number | undefined;
  /** What the next reads of the key find, once it resolves; undefined: what is stored. */
  reading: Promise<Uint8Array> | undefined;
  /** The failure of a spawned task. */
  failure: unknown;

  /** Whether a walk meets the key. */
  isListed: boolean;

  /** `found`: the walk over the keys of an earlier incarnation reads this. */
  constructor(found?: Promise<Uint8Array>, knownMax = 10) {
    this.reading = found;
    this.isListed = found !== undefined;
    const ring = new Ring(members);
    const [self = member('', '')] = members;
    const parts = {
      self,
      ring: () => ring,
      pending: () => [],
      members: () => members,
      plane: this,
      stats: new NodeStats(),
      peerIndex: () => 1,
      view: { isRoutable: ({ node }: Member) => !this.away.has(node) },
      hints: undefined,
      oldestRequestUs: () => this.oldestRequestUs,
      keys: () => (this.isListed ? [key] : []),
      tokenOf: () => token,
      bytesOf: () => this.reading ?? this.#bytes,
      io: {
        clock: this.clock,
        log: new TestLog(),
        spawn: (_: string, task: () => Promise<void>) => {
          task().catch((error: unknown) => (this.failure = error));
        },
      },
      replica: {
        watch: (stored: (key: PackedKey, token: Token, object: StoredObject) => void) => {
          this.#stored = stored;
        },
        hasForgotten: () => false,
        forget: ({ mark }: ReapItem, done: (gone: boolean) => void) => {
          const gone = this.#bytes !== undefined && markOf(this.#bytes) === mark;
          if (gone) this.#bytes = undefined;
          done(gone);
        },
      },
    };
    this.reaper = new Reaper(parts, { graceMs, intervalUs, timeoutUs: intervalUs, knownMax });
    this.reaper.start();
  }

  get isThere(): boolean {
    return this.#bytes !== undefined;
  }

  get bytes(): Uint8Array {
    return this.#bytes ?? new Uint8Array();
  }

  get mark(): string {
    return this.#bytes === undefined ? '' : markOf(this.#bytes);
  }

  store(content: Content): void {
    const object = this.#written(content);
    this.#bytes = encodeObject(object);
    this.#stored(key, token, object);
  }

  /** Stores something under another key. */
  storeOther(content: Content): void {
    const other = objectKey(defaultType, byteStringOf('b'), byteStringOf('other')).packed;
    this.#stored(other, token, this.#written(content));
  }

  #written(content: Content): StoredObject {
    this.#counter += 1;
    const dot = { actor: byteStringOf('a1') as Actor, counter: this.#counter };
    return applyWrite(undefined, emptyVector, content, dot, this.clock.wallMs());
  }

  /**
   * Runs the given number of intervals. Resolves with the questions asked: `check a2 a3 0` names the peers, and for how
   * many seconds all have agreed.
   */
  async rounds(count: number): Promise<readonly string[]> {
    for (let round = 0; round < count; round++) {
      this.clock.advance(intervalUs);
      await settle();
    }
    if (this.failure !== undefined) throw this.failure as Error;
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' {
    if (request.kind !== 'reap') throw new Error(`asked for ${request.kind}`);
    const { kind, agreedForUs, items } = decodeReapQuestion(request.words);
    this.#asked.push(`${kind} ${peer} ${agreedForUs / intervalUs}`);
    const holding = this.holds.get(peer) ?? 'nothing';
    onReply({ kind: 'reapAnswered', words: encodeHoldings(items.map(() => holding)) });
    return 'ok';
  }

  /** This member's answer to the question what it holds, which all members have held for `agreedForUs`. */
  async answer(agreedForUs: number, mark = this.mark): Promise<readonly Holding[]> {
    let said: readonly Holding[] = [];
    const question = { kind: 'check', agreedForUs, items: [{ key, token, mark }] } as const;
    this.reaper.answer(encodeReapQuestion(question), (reply) => {
      if (reply.kind === 'reapAnswered') said = decodeHoldings(reply.words);
    });
    await settle();
    return said;
  }
}

const first = ['check a2 0', 'check a3 0'];
const second = ['check a2 1', 'check a3 1'];
const orders = ['forget a2 0', 'forget a3 0'];

it('a tombstone beyond the limit of those that are tracked is removed once others are gone', async () => {
  const harness = new Harness(undefined, 1);
  harness.isListed = true;
  await settle();
  harness.storeOther(tombstone);
  harness.store(tombstone);
  await harness.rounds(2);
  expect([harness.reaper.known, harness.isThere]).toEqual([1, true]);
  harness.storeOther(value);
  await harness.rounds(10);
  expect([harness.reaper.known, harness.isThere, harness.failure]).toEqual([0, false, undefined]);
});

describe('the starting member', () => {
  let harness: Harness;

  beforeEach(async () => {
    harness = new Harness();
    harness.store(tombstone);
    expect(await harness.rounds(graceMs / 1000)).toEqual([]);
  });

  it('asks every member twice, a round apart, and then sends forget', async () => {
    expect(await harness.rounds(1)).toEqual(first);
    expect(harness.isThere).toBe(true);
    expect(await harness.rounds(1)).toEqual([...second, ...orders]);
    expect([harness.isThere, harness.reaper.reaped, harness.reaper.known]).toEqual([false, 1, 0]);
    expect(await harness.rounds(3)).toEqual([]);
  });

  it('asks no member while one of them is not routable', async () => {
    harness.away.add('a3');
    expect(await harness.rounds(2)).toEqual([]);
    harness.away.delete('a3');
    expect(await harness.rounds(1)).toEqual(first);
    harness.away.add('a2');
    expect(await harness.rounds(1)).toEqual([]);
  });

  it('delays the second check while its own requests from before the agreement are under way', async () => {
    harness.oldestRequestUs = harness.clock.nowUs();
    expect(await harness.rounds(1)).toEqual(first);
    expect(await harness.rounds(3)).toEqual([]);
    // A request that starts later is shown the tombstone.
    harness.oldestRequestUs = harness.clock.nowUs();
    expect(await harness.rounds(1)).toEqual(['check a2 4', 'check a3 4', ...orders]);
  });

  it('repeats the second check while a member is busy, and sends no forget meanwhile', async () => {
    await harness.rounds(1);
    harness.holds.set('a3', 'busy');
    expect(await harness.rounds(2)).toEqual([...second, 'check a2 2', 'check a3 2']);
    expect(harness.isThere).toBe(true);
    harness.holds.set('a3', 'same');
    expect(await harness.rounds(1)).toEqual(['check a2 3', 'check a3 3', ...orders]);
  });

  it.each(['other', 'nothing'] as const)('starts again when an owner holds %s', async (holding) => {
    await harness.rounds(1);
    harness.holds.set('a2', holding);
    expect(await harness.rounds(2)).toEqual([...second, ...first]);
    harness.holds.set('a2', 'same');
    expect(await harness.rounds(2)).toEqual([...first, ...second, ...orders]);
  });

  it('starts again for a later tombstone, and not at all for a value', async () => {
    await harness.rounds(1);
    harness.store(value);
    expect(await harness.rounds(4)).toEqual([]);
    harness.clock.aheadMs = 60_000;
    harness.store(tombstone);
    expect(await harness.rounds(graceMs / 1000)).toEqual([]);
    expect(await harness.rounds(2)).toEqual([...first, ...second, ...orders]);
  });

  it('gives a tombstone its grace that replaces an older one while the walk reads that', async () => {
    const earlier = new Harness();
    earlier.clock.aheadMs = -60_000;
    earlier.store(tombstone);
    let read = (_: Uint8Array): void => undefined;
    harness = new Harness(new Promise((resolve) => (read = resolve)));
    harness.store(tombstone);
    read(earlier.bytes);
    await settle();
    harness.reading = undefined;
    expect(await harness.rounds(graceMs / 1000)).toEqual([]);
    expect(await harness.rounds(2)).toEqual([...first, ...second, ...orders]);
  });
});

describe('a member that is asked', () => {
  it('answers busy to the second check while a request from before the agreement is under way', async () => {
    const harness = new Harness();
    harness.store(tombstone);
    await harness.rounds(3);
    expect(await harness.answer(intervalUs)).toEqual(['same']);
    harness.oldestRequestUs = harness.clock.nowUs() - 2 * intervalUs;
    expect(await harness.answer(intervalUs)).toEqual(['busy']);
    expect(await harness.answer(3 * intervalUs)).toEqual(['same']);
    // The first check asks what is there; a different object is `other` whatever is under way.
    expect(await harness.answer(0)).toEqual(['same']);
    expect(await harness.answer(intervalUs, 'of another one')).toEqual(['other']);
  });
});
