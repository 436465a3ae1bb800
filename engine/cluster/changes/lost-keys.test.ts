/** The fetching of keys whose copy is lost: from which replicas, and when the doubt ends. */
import { expect, test } from 'vitest';

import { settle, TestClock } from '../../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { PeerReply } from '../../peer/wire/messages.ts';
import type { Member } from '../ring/ring.ts';
import { Ring } from '../ring/ring.ts';
import { LostKeys } from './lost-keys.ts';

const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const token = 5 as Token;

function memberOf(name: string, rack: string): Member {
  return { node: name as NodeId, datacenter: 'dc1', rack, tokens: [(name.charCodeAt(1) * 1000) as Token] };
}

/** One node of a cluster with so many racks, which has written a key over a lost copy. */
class Harness {
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  readonly merged: string[] = [];
  readonly away = new Set<string>();
  readonly doubted = new Set<PackedKey>([key]);
  /** By node; undefined: it cannot be asked. */
  readonly replies = new Map<string, PeerReply | undefined>();
  onDoubt: (key: PackedKey, token: Token) => void = () => undefined;
  readonly lostKeys: LostKeys;

  constructor(racks: number) {
    const members = Array.from({ length: racks }, (_, index) => memberOf(`n${index + 1}`, `r${index + 1}`));
    const [self] = members;
    if (self === undefined) throw new Error('no rack');
    this.lostKeys = new LostKeys({
      io: { clock: this.clock, spawn: (_name, task) => void task().catch(() => undefined) },
      self,
      membership: { ring: new Ring(members), isRoutable: (node) => !this.away.has(node) },
      links: {
        request: (node, _request, _timeoutUs, onReply) => {
          this.asked.push(node);
          const reply = this.replies.get(node);
          if (reply === undefined) return 'closed';
          onReply(reply);
          return 'ok';
        },
      },
      replica: {
        merge: (_key, _token, bytes, done) => {
          this.merged.push(Buffer.from(bytes).toString());
          done(undefined, false);
          return 'ok';
        },
        onDoubt: (onDoubt) => void (this.onDoubt = onDoubt),
      },
      store: {
        keepsDoubt: (one) => this.doubted.has(one),
        endDoubt: (one) => void this.doubted.delete(one),
      },
      timeoutUs: 1_000_000,
    });
  }

  async write(): Promise<void> {
    this.onDoubt(key, token);
    await settle();
  }
}

const object = (text: string): PeerReply => ({ kind: 'object', object: Buffer.from(text) });
const absent: PeerReply = { kind: 'object', object: undefined };

test('the doubt ends once every majority includes a replica that has answered', async () => {
  const harness = new Harness(3);
  harness.replies.set('n2', object('theirs'));
  await harness.write();
  expect([harness.asked, harness.merged, harness.doubted.size]).toEqual([['n2', 'n3'], ['theirs'], 1]);
  harness.replies.set('n3', absent);
  harness.clock.advance(1_000_000);
  await settle();
  expect([harness.asked.length, harness.doubted.size]).toEqual([4, 0]);
  harness.clock.advance(5_000_000);
  await settle();
  expect(harness.asked.length).toBe(4);
});

test('no replica is asked while one of them is unreachable', async () => {
  const harness = new Harness(3);
  for (const node of ['n2', 'n3']) harness.replies.set(node, absent);
  harness.away.add('n3');
  await harness.write();
  expect([harness.asked, harness.doubted.size]).toEqual([[], 1]);
  harness.away.clear();
  harness.clock.advance(1_000_000);
  await settle();
  expect([harness.asked, harness.doubted.size]).toEqual([['n2', 'n3'], 0]);
});

test('a replica that has lost its copy, too, is not waited for', async () => {
  const harness = new Harness(3);
  harness.replies.set('n2', { kind: 'failed', code: 'Corrupted', detail: '' });
  harness.replies.set('n3', object('theirs'));
  await harness.write();
  expect([harness.merged, harness.doubted.size]).toEqual([['theirs'], 0]);
});

test('the doubt ends at once where no other replica has a copy', async () => {
  const harness = new Harness(1);
  await harness.write();
  expect([harness.asked, harness.doubted.size]).toEqual([[], 0]);
});

test('nothing is asked any more after a stop, or when a sweep has ended the doubt', async () => {
  for (const end of ['stop', 'sweep']) {
    const harness = new Harness(3);
    await harness.write();
    if (end === 'sweep') harness.doubted.clear();
    const stopped = end === 'stop' ? harness.lostKeys.stop() : undefined;
    harness.clock.advance(1_000_000);
    await settle();
    await stopped;
    expect(harness.asked.length).toBe(2);
  }
});
