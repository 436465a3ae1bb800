/** Plain writes that are made together: each ends as it would alone, and the usual ones share messages and disk writes. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import { bucketPrefix, defaultType, epochOf, nameOfKey, objectKey } from '../base/object-key.ts';
import { LockstepError } from '../base/errors.ts';
import { Epochs } from '../buckets/epochs.ts';
import { defaultProperties } from '../buckets/properties.ts';
import { epochRecord } from '../buckets/registers.ts';
import { Router } from '../buckets/router.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { plainContent } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import type { MemoryStore, ReadDone, WriteDone } from '../replica/key-slots.ts';
import { Replica } from '../replica/replica.ts';
import type { StoreWrite } from '../storage/store.ts';
import { decodeBatch } from './batch-codec.ts';
import { ClusterDispatcher } from './cluster-dispatcher.ts';
import { MergeEnds, soleEnd, writtenEnd } from './merge-many.ts';
import type { Merged } from './merge-many.ts';
import { decodeReads } from './read-many.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import type { JoinedReplacement } from './requests.ts';
import { NotReplaced } from './requests.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';
import { roundPartsOf } from './round-parts.fixture.ts';

const timeoutMs = 1000;
const rules = () => defaultProperties;

function member(node: string, rack: string): Member {
  return { node: node as NodeId, datacenter: 'dc', rack, tokens: [0 as Token] };
}

const [n1, n2, n3] = [member('n1', 'r1'), member('n2', 'r2'), member('n3', 'r3')];
const ring = new Ring([n1, n2, n3]);

/** A store whose writes become durable when the test says so. */
class HeldStore implements MemoryStore {
  /** Keys of the batches, in the order of the writes. */
  readonly batches: string[][] = [];
  readonly values = new Map<PackedKey, Uint8Array>();
  readonly onDisk = new Set<string>();
  readonly #held: (() => void)[] = [];
  full = false;

  inMemory(key: PackedKey): Uint8Array | undefined | 'elsewhere' {
    return this.onDisk.has(short(key)) ? 'elsewhere' : this.values.get(key);
  }

  tryRead(key: PackedKey, done: ReadDone): 'ok' {
    this.#held.push(() => done(undefined, this.values.get(key)));
    return 'ok';
  }

  tryReadDoubted(): 'closed' {
    return 'closed';
  }

  keepDoubt = nothingLost.keepDoubt;
  keepsDoubt = nothingLost.keepsDoubt;
  hasNewest = nothingLost.hasNewest;

  tryWrite(batch: readonly StoreWrite[], done: WriteDone): 'ok' | 'full' {
    if (this.full) return 'full';
    this.batches.push(batch.map(({ key }) => short(key)));
    this.#held.push(() => {
      for (const { key, value } of batch) if (value !== undefined) this.values.set(key, value);
      done(undefined);
    });
    return 'ok';
  }

  release(): void {
    for (const answer of this.#held.splice(0)) answer();
  }
}

function short(key: PackedKey): string {
  return nameOfKey(key).split('/')[2] ?? '';
}

/** Node n1, whose peers answer as the test says. */
class Harness implements PeerLinks {
  readonly store = new HeldStore();
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  readonly hinted: string[] = [];
  readonly outcomes: string[] = [];
  pending: readonly Member[] = [];
  readsBatches = true;
  readonly epochs = new Epochs();
  /** The keys of all requests. */
  readonly packed: PackedKey[] = [];
  readonly dispatcher: ClusterDispatcher;
  readonly #waiting = new Map<string, ReplyHandler>();
  readonly #counts = new Map<string, number>();

  constructor() {
    const parts = roundPartsOf(
      { self: n1, ring, plane: this, store: this.store, clock: this.clock, properties: rules() },
      {
        pending: () => this.pending,
        reads: () => this.readsBatches,
        settings: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', timeoutMs },
        router: new Router(rules, undefined, this.epochs),
        hints: { keep: (peer, key) => void this.hinted.push(`${peer} ${short(key)}`) },
      },
    );
    this.dispatcher = new ClusterDispatcher(parts);
  }

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' {
    this.packed.push(...keysOf(request));
    const keys = keysOf(request).map(short);
    this.asked.push(`${peer} ${request.kind} ${keys.join(' ')}`);
    this.#waiting.set(`${peer} ${keys.join(' ')}`, onReply);
    this.#counts.set(`${peer} ${keys.join(' ')}`, keys.length);
    return 'ok';
  }

  /** Sets the keys together; their outcomes are in `outcomes`, in the order in which they come. */
  set(keys: string): this {
    this.dispatcher.replaceMany(
      keys.split(' ').map((name) => {
        const key = objectKey(defaultType, byteStringOf('b'), byteStringOf(name));
        return new Sent(key, (error) => void this.outcomes.push(`${name} ${textOf(error)}`));
      }),
    );
    return this;
  }

  /** Reads the keys together, as `set`. */
  get(keys: string): this {
    this.dispatcher.readMany(
      keys.split(' ').map((name) => ({
        key: objectKey(defaultType, byteStringOf('b'), byteStringOf(name)),
        need: 'default',
        timeoutMs: name === 'hasty' ? 1 : timeoutMs,
        answered: (object) =>
          void this.outcomes.push(`${name} ${object === undefined ? 'nothing' : 'found'}`),
        failed: (error: unknown) => void this.outcomes.push(`${name} ${textOf(error)}`),
      })),
    );
    return this;
  }

  /** `peer` answers its request about `keys`: all sole, unless `ends` says otherwise for the first ones. */
  answer(peer: string, keys: string, ...ends: Merged[]): void {
    const count = this.#counts.get(`${peer} ${keys}`) ?? 0;
    const collected = new MergeEnds(count);
    for (let index = 0; index < count; index++) collected.note(index, ends[index] ?? soleEnd);
    this.say(peer, keys, { kind: 'mergedMany', words: collected.encode() });
  }

  say(peer: string, keys: string, reply: PeerReply): void {
    this.#waiting.get(`${peer} ${keys}`)?.(reply);
  }
}

/** A request as the listeners make them: its outcome goes to a method of a class, which a copy would lack. */
class Sent implements JoinedReplacement {
  readonly key: ObjectKey;
  readonly content = plainContent(Buffer.from('v'), 'text/plain');
  readonly timeoutMs = timeoutMs;
  readonly partOf = undefined;
  readonly #replaced: (error: unknown) => void;

  constructor(key: ObjectKey, replaced: (error: unknown) => void) {
    this.key = key;
    this.#replaced = replaced;
  }

  replaced(error: unknown): void {
    this.#replaced(error);
  }
}

function keysOf(request: PeerRequest): readonly PackedKey[] {
  if (request.kind === 'mergeMany') return decodeBatch(request.words).map(({ key }) => key);
  if (request.kind === 'readMany') return decodeReads(request.words).map(({ key }) => key);
  return request.kind === 'mergeObject' || request.kind === 'readObject' ? [request.key] : [];
}

function textOf(error: unknown): string {
  if (error === undefined) return 'done';
  if (error instanceof NotReplaced) return `not replaced, ${error.attempt.length} attempts`;
  return error instanceof LockstepError ? error.code : 'odd';
}

const broken: Merged = { kind: 'failed', code: 'StorageFailed', detail: 'a broken disk' };

test('writes that come together share one message to each replica and one disk write', () => {
  const harness = new Harness().set('a b c');
  expect(harness.asked.sort()).toEqual(['n2 mergeMany a b c', 'n3 mergeMany a b c']);
  expect(harness.store.batches).toEqual([['a', 'b', 'c']]);
  harness.answer('n2', 'a b c');
  expect(harness.outcomes).toEqual([]);
  harness.store.release();
  expect(harness.outcomes).toEqual(['a done', 'b done', 'c done']);
  harness.answer('n3', 'a b c');
  harness.clock.advance(timeoutMs * 1000);
  expect(harness.outcomes).toHaveLength(3);
  expect(harness.hinted).toEqual([]);
});

test('writes of a flushed bucket that come together go to its present epoch', () => {
  const harness = new Harness();
  const name = bucketPrefix(defaultType, byteStringOf('b'));
  harness.epochs.note([{ name, record: epochRecord(7) }]);
  harness.set('a b');
  harness.answer('n2', 'a b');
  harness.store.release();
  expect(harness.outcomes).toEqual(['a done', 'b done']);
  expect(harness.packed.map(epochOf)).toEqual([7, 7, 7, 7]);
});

test('a write beside another value is not known to replace it, and the others are done', () => {
  const harness = new Harness().set('a b');
  harness.store.release();
  harness.answer('n2', 'a b', writtenEnd);
  expect(harness.outcomes).toEqual(['a not replaced, 1 attempts', 'b done']);
  harness.answer('n3', 'a b', writtenEnd, writtenEnd);
  expect(harness.outcomes).toHaveLength(2);
});

test('a write that fails at one replica is done by the others, and the replica gets a hint', () => {
  const harness = new Harness().set('a b');
  harness.answer('n2', 'a b', broken);
  harness.store.release();
  expect(harness.outcomes).toEqual(['b done']);
  harness.answer('n3', 'a b', soleEnd, broken);
  expect(harness.outcomes).toEqual(['b done', 'a done']);
  expect(harness.hinted).toEqual(['n2 a', 'n3 b']);
});

test('a replica that does not take the message misses all of its writes', () => {
  const harness = new Harness().set('a b');
  harness.store.release();
  harness.say('n2', 'a b', { kind: 'failed', code: 'PeerGone', detail: 'gone' });
  expect(harness.hinted).toEqual(['n2 a', 'n2 b']);
  harness.say('n3', 'a b', { kind: 'mergedMany', words: Buffer.from([2, 9]) });
  expect(harness.outcomes).toEqual(['a Timeout', 'b Timeout']);
});

test('a write without an answer in time ends as Timeout', () => {
  const harness = new Harness().set('a b');
  harness.store.release();
  harness.clock.advance(timeoutMs * 1000);
  expect(harness.outcomes).toEqual(['a Timeout', 'b Timeout']);
  harness.answer('n2', 'a b', broken);
  expect(harness.outcomes).toHaveLength(2);
  expect(harness.hinted).toEqual(['n2 a']);
});

test('a write that must wait for the disk runs alone', () => {
  const harness = new Harness();
  harness.store.onDisk.add('b');
  harness.set('a b c');
  expect(harness.store.batches).toEqual([['a', 'c']]);
  harness.store.release();
  expect(harness.store.batches).toEqual([['a', 'c'], ['b']]);
  expect(harness.asked.filter((one) => one.startsWith('n2'))).toEqual([
    'n2 mergeMany a c',
    'n2 mergeObject b',
  ]);
});

test('replicas that do not read such messages get each write alone', () => {
  const harness = new Harness();
  harness.readsBatches = false;
  harness.set('a b');
  expect(harness.asked.filter((one) => one.startsWith('n2'))).toEqual([
    'n2 mergeObject a',
    'n2 mergeObject b',
  ]);
});

test('a write whose owners change meanwhile asks the new owner, too', () => {
  const harness = new Harness().set('a b');
  harness.store.release();
  harness.pending = [member('j', 'r1')];
  harness.answer('n2', 'a b');
  expect(harness.outcomes).toEqual([]);
  expect(harness.asked.slice(2)).toEqual(['j mergeObject a', 'j mergeObject b']);
  harness.say('j', 'a', { kind: 'written', sole: true });
  harness.answer('n3', 'a b');
  expect(harness.outcomes).toEqual(['a done', 'b done']);
});

test('a full store refuses the writes, and nothing is sent', () => {
  const harness = new Harness();
  harness.store.full = true;
  harness.set('a b');
  expect(harness.outcomes).toEqual(['a Overloaded', 'b Overloaded']);
  expect(harness.asked).toEqual([]);
});

test('a peer merges what came together as if it had come alone, and writes it at once', () => {
  const sent = new Harness().set('a b');
  sent.store.release();
  const other = new Replica(new HeldStore(), new TestClock(), byteStringOf('n9') as Actor, rules);
  const store = new HeldStore();
  const receiver = new Replica(store, new TestClock(), byteStringOf('n2') as Actor, rules);
  const incoming = [...sent.store.values].map(([key, bytes]) => ({ key, token: 0 as Token, bytes }));
  const ends: string[] = [];
  const note = (index: number, error: LockstepError | undefined, sole: boolean): void =>
    void ends.push(`${index} ${error?.code ?? 'written'} ${sole}`);
  receiver.mergeMany(incoming, note);
  expect(store.batches).toEqual([['a', 'b']]);
  store.release();
  expect(ends).toEqual(['0 written true', '1 written true']);
  expect(store.values).toEqual(sent.store.values);
  // What does not decode fails alone.
  const rotten = incoming.map((one, index) => (index === 0 ? { ...one, bytes: Buffer.from('?') } : one));
  other.mergeMany(rotten, note);
  expect(ends.slice(2)).toEqual(['0 BadRequest false']);
});

test('reads that come together share one message to each replica, and those with another timeout another one', () => {
  const harness = new Harness().get('a b hasty a');
  expect(harness.asked.filter((one) => one.startsWith('n2'))).toEqual([
    'n2 readMany a b',
    'n2 readObject hasty',
    'n2 readObject a',
  ]);
  harness.say('n2', 'a b', { kind: 'readManyAnswered', words: Buffer.from([1, 1]) });
  expect(harness.outcomes).toEqual([]);
  harness.store.release();
  expect(harness.outcomes).toEqual(['a nothing', 'b nothing']);
});

test('replicas that do not read such messages are asked for each read alone', () => {
  const harness = new Harness();
  harness.readsBatches = false;
  harness.get('a b');
  expect(harness.asked.filter((one) => one.startsWith('n2'))).toEqual(['n2 readObject a', 'n2 readObject b']);
});
