import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { present } from '../../base/assert.ts';
import type { SendOutcome } from '../../base/channel.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringFrom, byteStringOf } from '../../base/ids.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, defaultType, objectKey, systemKey, unpackKey } from '../../base/object-key.ts';
import type { ReplyHandler } from '../../replication/peer-links.ts';
import type { ReadDone } from '../../replica/key-slots.ts';
import { plainContent, tombstone } from '../../replica/object/content.ts';
import { metaWithExpiry } from '../../replica/object/expiry.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { emptyVector } from '../../replica/object/dots.ts';
import { applyWrite, encodeObject } from '../../replica/object/object.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { Ring } from '../../cluster/ring/ring.ts';
import { routeToken, tokensOfNode } from '../../cluster/ring/token.ts';
import { NodeStats } from '../../metrics/node-stats.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import { Coverage } from './coverage.ts';
import type { ListingAnswer, ListingCursor, ListingRequest } from './listing-messages.ts';
import {
  decodeListingAnswer,
  decodeListingRequest,
  encodeListingAnswer,
  encodeListingRequest,
} from './listing-messages.ts';
import type { ListingStore } from './local-listing.ts';
import { LocalListing } from './local-listing.ts';

/** Objects by packed key, with tokens that the test chooses; a deleted one is a tombstone. */
class MapStore implements ListingStore {
  readonly objects = new Map<PackedKey, { readonly token: Token; readonly bytes: Uint8Array }>();
  reads = 0;
  pauses = 0;
  nowMs = 0;

  add(key: ObjectKey, token: Token, deleted = false, counter = 1): void {
    const content = deleted ? tombstone : plainContent(Buffer.from('v'), 'text/plain');
    const dot = { actor: byteStringOf('a') as Actor, counter };
    const object = applyWrite(undefined, emptyVector, content, dot, 0);
    this.objects.set(key.packed, { token, bytes: encodeObject(object) });
  }

  tryRead(key: PackedKey, done: ReadDone): SendOutcome {
    this.reads += 1;
    done(undefined, this.objects.get(key)?.bytes);
    return 'ok';
  }

  isFormer(): boolean {
    return false;
  }

  pause(): Promise<void> {
    this.pauses += 1;
    return Promise.resolve();
  }

  *keysOfTokens(from: Token, to: Token): Generator<PackedKey> {
    const span = (to - from) >>> 0 || 2 ** 32;
    for (const [key, { token }] of this.objects) if (((token - from) >>> 0 || 2 ** 32) <= span) yield key;
  }

  *keysOfBucket(prefix: string): Generator<PackedKey> {
    for (const key of this.objects.keys()) if (key.startsWith(prefix)) yield key;
  }

  bucketKeysMax(prefix: string): number {
    return [...this.keysOfBucket(prefix)].length;
  }

  wallMs(): number {
    return this.nowMs;
  }

  tokenOf(key: PackedKey): Token | undefined {
    return this.objects.get(key)?.token;
  }
}

const bucketA = byteStringOf('a');
const token = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0, 1, 0xffffffff, 2 ** 20, 2 ** 20 - 1),
);
const named = fc.record({
  bucket: fc.constantFrom('a', 'b', 'aa'),
  key: fc.stringMatching(/^[a-z]{1,3}$/),
  token: token.map((value) => value as Token),
  deleted: fc.boolean(),
});

function storeOf(
  entries: readonly { bucket: string; key: string; token: Token; deleted: boolean }[],
): MapStore {
  const store = new MapStore();
  for (const one of entries) {
    const key = objectKey(defaultType, byteStringOf(one.bucket), byteStringOf(one.key));
    store.add(key, one.token, one.deleted);
  }
  return store;
}

/** All pages of a span, concatenated. */
async function listAll(listing: LocalListing, request: ListingRequest): Promise<ListingAnswer['names']> {
  const names: ListingAnswer['names'][number][] = [];
  let at: ListingCursor | undefined = request;
  while (at !== undefined) {
    const answer: ListingAnswer = await listing.page({ ...request, ...at });
    names.push(...answer.names);
    at = answer.next;
  }
  return names;
}

describe('a listing of one node', () => {
  test('gives every key of the span once, in the order of tokens, whatever the size of its pages', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(named, { maxLength: 30 }),
        token,
        token,
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        async (entries, from, to, namesMax, live) => {
          const store = storeOf(entries);
          const listing = new LocalListing(store, { namesMax, bytesMax: 1000, visitedMax: 3 });
          const request = {
            type: defaultType,
            bucket: bucketA,
            live,
            from: from as Token,
            to: to as Token,
            skip: undefined,
          };
          const names = await listAll(listing, request);
          const span = (to - from) >>> 0 || 2 ** 32;
          const far = (at: number): number => (at - from) >>> 0 || 2 ** 32;
          const newest = new Map(entries.map((one) => [`${one.bucket}/${one.key}`, one]));
          // Deleted keys are included with a mark, because other replicas may not know of the deletion.
          const expected = [...newest.values()]
            .filter((one) => one.bucket === 'a' && far(one.token) <= span)
            .sort((one, two) => far(one.token) - far(two.token) || (one.key < two.key ? -1 : 1));
          expect(names.map(({ name, token: at, known }) => [name, at, known?.deleted])).toEqual(
            expected.map((one) => [one.key, one.token, live ? one.deleted : undefined]),
          );
        },
      ),
      { numRuns: 150 },
    );
  });

  test('lists each bucket with a live key, and none of the engine’s own', async () => {
    const store = storeOf([
      { bucket: 'a', key: 'x', token: 5 as Token, deleted: true },
      { bucket: 'a', key: 'y', token: 6 as Token, deleted: false },
      { bucket: 'b', key: 'x', token: 7 as Token, deleted: true },
      { bucket: 'c', key: 'x', token: 8 as Token, deleted: false },
      { bucket: 'c', key: 'y', token: 9 as Token, deleted: false },
    ]);
    store.objects.set(systemKey(bucketA, byteStringOf('own')), { token: 9 as Token, bytes: Buffer.alloc(0) });
    const request = {
      type: defaultType,
      bucket: undefined,
      live: true,
      from: 0 as Token,
      to: 0 as Token,
      skip: undefined,
    };
    const names = await listAll(new LocalListing(store), request);
    expect(names.map(({ name }) => name)).toEqual(['a', 'c']);
  });

  test('rests while it visits many keys of one token, and lists each once', async () => {
    const store = storeOf([]);
    const count = 25_000;
    for (let number = 0; number < count; number++) {
      const key = objectKey(defaultType, bucketA, byteStringOf(String((number * 7919) % count)));
      store.objects.set(key.packed, { token: 7 as Token, bytes: Buffer.alloc(0) });
    }
    const whole = { from: 0 as Token, to: 0 as Token, skip: undefined };
    const request = { type: defaultType, bucket: bucketA, live: false, ...whole };
    const listing = new LocalListing(store);
    expect((await listing.page(request)).names.length).toBe(2000);
    expect(store.pauses).toBeGreaterThanOrEqual(2);
    const names = (await listAll(listing, request)).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)].toSorted());
    expect(names.length).toBe(count);
  });

  test('reads no object if deleted keys are wanted too', async () => {
    const store = storeOf([{ bucket: 'a', key: 'x', token: 5 as Token, deleted: true }]);
    const whole = { from: 0 as Token, to: 0 as Token, skip: undefined };
    const request = { type: defaultType, bucket: bucketA, live: false, ...whole };
    expect((await listAll(new LocalListing(store), request)).length).toBe(1);
    expect(store.reads).toBe(0);
  });
});

/**
 * Nodes that reach each other at once. `away` do not answer, `standby` are in STANDBY, `failing` count down to a
 * failure.
 */
function cluster(names: readonly string[]): {
  readonly stores: Map<string, MapStore>;
  readonly away: Set<string>;
  readonly standby: Set<string>;
  readonly asked: string[];
  readonly failEvery: { at: number };
  /** While `held`, timers do not fire. */
  readonly timers: { held: boolean; pending: number };
  readonly epoch: { present: number };
  readonly coverage: (name: string) => Coverage;
  readonly ring: Ring;
  /** The rings of the node that lists, and of the others; called before each request, and before each pause. */
  readonly rings: { here: Ring; others: Ring; onAsk: () => void; onPause: () => void };
} {
  const members = names.map((name, index): Member => {
    const node = name as NodeId;
    return { node, datacenter: 'dc1', rack: `r${index % 3}`, tokens: tokensOfNode(node, 4) };
  });
  const ring = new Ring(members);
  const nothing = (): void => undefined;
  const rings = { here: ring, others: ring, onAsk: nothing, onPause: nothing };
  const stores = new Map(names.map((name) => [name, new MapStore()]));
  const away = new Set<string>();
  const standby = new Set<string>();
  const asked: string[] = [];
  const failEvery = { at: 0 };
  const timers = { held: false, pending: 0 };
  const epoch = { present: 0 };
  let nowUs = 0;
  const coverages = new Map<string, Coverage>();
  const request = (
    peer: NodeId,
    message: PeerRequest,
    _timeoutUs: number,
    onReply: ReplyHandler,
  ): SendOutcome => {
    asked.push(peer);
    rings.onAsk();
    if (away.has(peer)) return 'closed';
    if (message.kind !== 'listNames') throw new Error(message.kind);
    if (failEvery.at > 0 && asked.length % failEvery.at === 0) {
      onReply({ kind: 'failed', code: 'PeerGone', detail: 'it died' });
      return 'ok';
    }
    present(coverages.get(peer), 'a node').answer(message.words, onReply);
    return 'ok';
  };
  const clock = {
    nowUs: () => nowUs,
    wallMs: () => 0,
    after: (delayUs: number, fire: () => void) => {
      if (timers.held) {
        timers.pending += 1;
        return { cancel: () => void (timers.pending -= 1) };
      }
      rings.onPause();
      nowUs += delayUs;
      queueMicrotask(fire);
      return { cancel: () => undefined };
    },
  };
  for (const self of members) {
    const view = {
      self,
      rackCount: () => 3,
      isRoutable: (one: Member) => one === self || !away.has(one.node),
      isStandby: (one: Member) => standby.has(one.node),
    };
    const parts = {
      self,
      ring: () => (self === members[0] ? rings.here : rings.others),
      view,
      clock,
      plane: { request },
      stats: new NodeStats(),
      peerIndex: () => 0,
      epochOf: () => epoch.present,
      admitEpoch: () => Promise.resolve(),
    };
    const io = { spawn: (_name: string, task: () => Promise<void>) => void task().catch(() => undefined) };
    const store = present(stores.get(self.node), 'a store');
    const listing = new LocalListing(store, { namesMax: 7, bytesMax: 1000, visitedMax: 50 });
    coverages.set(self.node, new Coverage(io, parts, listing));
  }
  return {
    stores,
    away,
    standby,
    asked,
    failEvery,
    timers,
    epoch,
    ring,
    rings,
    coverage: (name) => present(coverages.get(name), 'a node'),
  };
}

function fill(stores: Map<string, MapStore>, ring: Ring, count: number): string[] {
  const keys = Array.from({ length: count }, (_, index) => `k${index}`);
  for (const name of keys) {
    const key = objectKey(defaultType, bucketA, byteStringOf(name));
    const at = routeToken('STD', key.bucket, key.key);
    for (const member of ring.placement(at)) present(stores.get(member.node), 'a store').add(key, at);
  }
  return keys;
}

async function keysOf(coverage: Coverage): Promise<ByteString[]> {
  const keys: ByteString[] = [];
  for await (const { names } of coverage.keys(defaultType, bucketA, { live: true }, 60_000_000)) {
    keys.push(...names.map(({ name }) => name));
  }
  return keys;
}

describe('a listing of the cluster', () => {
  const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];

  test('asks no node in STANDBY while enough others are routable', async () => {
    const { stores, away, standby, asked, coverage, ring } = cluster(names.slice(0, 3));
    const keys = fill(stores, ring, 20);
    standby.add('n1');
    expect(await keysOf(coverage('n2'))).toHaveLength(keys.length);
    expect(asked).not.toContain('n1');
    away.add('n3');
    expect(await keysOf(coverage('n2'))).toHaveLength(keys.length);
    expect(asked).toContain('n1');
  });

  test('gives every key once, the same list at every node, while replicas are away and fail', async () => {
    const { stores, away, failEvery, coverage, ring } = cluster(names);
    const keys = fill(stores, ring, 300);
    const calm = await keysOf(coverage('n1'));
    expect([...calm].sort()).toEqual([...keys].sort());
    expect(await keysOf(coverage('n4'))).toEqual(calm);
    failEvery.at = 3;
    expect(await keysOf(coverage('n2'))).toEqual(calm);
    failEvery.at = 0;
    away.add('n1').add('n2');
    expect(await keysOf(coverage('n3'))).toEqual(calm);
  });

  test('lists a key whose value is concurrent with a deletion that one replica has, in whatever order they answer', async () => {
    const { stores, coverage, ring } = cluster(names);
    const key = objectKey(defaultType, bucketA, byteStringOf('k'));
    const at = routeToken('STD', key.bucket, key.key);
    const replicas = ring.placement(at).map(({ node }) => node as string);
    const content = plainContent(Buffer.from('v'), 'text/plain');
    const value = applyWrite(
      undefined,
      emptyVector,
      content,
      { actor: byteStringOf('a') as Actor, counter: 1 },
      0,
    );
    const both = applyWrite(
      value,
      emptyVector,
      tombstone,
      { actor: byteStringOf('b') as Actor, counter: 2 },
      0,
    );
    const alone = applyWrite(
      undefined,
      emptyVector,
      tombstone,
      { actor: byteStringOf('b') as Actor, counter: 2 },
      0,
    );
    for (const behind of replicas) {
      for (const node of replicas) {
        const bytes = encodeObject(node === behind ? alone : both);
        present(stores.get(node), 'a store').objects.set(key.packed, { token: at, bytes });
      }
      for (const node of names)
        expect([behind, node, await keysOf(coverage(node))]).toEqual([behind, node, ['k']]);
    }
  });

  test('names no key twice that is written again after a flush between two pages', async () => {
    const { stores, coverage, epoch, ring } = cluster(names);
    fill(stores, ring, 100);
    for (const store of stores.values()) {
      for (const packed of [...store.objects.keys()]) {
        const { key } = present(unpackKey(packed), 'a key');
        const again = (bucketPrefix(defaultType, bucketA, 1) + key) as PackedKey;
        const at = present(store.tokenOf(packed), 'its token');
        store.add({ type: defaultType, bucket: bucketA, key, packed: again }, at);
      }
    }
    const seen: ByteString[] = [];
    for await (const { names: page } of coverage('n1').keys(
      defaultType,
      bucketA,
      { live: true },
      60_000_000,
    )) {
      seen.push(...page.map(({ name }) => name));
      epoch.present = 1;
    }
    expect(seen.length).toBe(100);
    expect(new Set(seen).size).toBe(100);
  });

  test('goes on with the owners of the moment when a joining node has split an arc', async () => {
    const { stores, asked, coverage, ring, rings } = cluster(names);
    const former = new Ring(ring.members.slice(0, -1));
    const keys = fill(stores, former, 300);
    fill(stores, ring, 300);
    Object.assign(rings, { here: former, others: former });
    // The others hear of the new member amid the listing, the node that lists only while it waits to ask them again.
    rings.onAsk = () => {
      if (asked.length === 20) rings.others = ring;
    };
    rings.onPause = () => {
      rings.here = ring;
    };
    expect((await keysOf(coverage('n1'))).sort()).toEqual([...keys].sort());
  });

  test('begins at the given token', async () => {
    const { stores, coverage, ring } = cluster(names);
    fill(stores, ring, 100);
    const tokens = (await keysOf(coverage('n1'))).map((name) => routeToken('STD', bucketA, name));
    for (const first of [0, ...tokens, ...tokens.map((at) => at + 1), 0xffffffff]) {
      const seen: Token[] = [];
      const options = { live: true, first: first as Token };
      for await (const { names: page } of coverage('n2').keys(defaultType, bucketA, options, 60_000_000)) {
        seen.push(...page.map(({ token: at }) => at));
      }
      expect(seen).toEqual(tokens.filter((at) => at >= first));
    }
  });

  test('leaves out values that have expired', async () => {
    const { stores, coverage, ring } = cluster(names);
    fill(stores, ring, 5);
    const key = objectKey(defaultType, bucketA, byteStringOf('mortal'));
    const at = routeToken('STD', key.bucket, key.key);
    const content = plainContent(Buffer.from('v'), 'text/plain');
    const mortal = { ...content, meta: metaWithExpiry(content, 1000) };
    const dot = { actor: byteStringOf('a') as Actor, counter: 1 };
    const bytes = encodeObject(applyWrite(undefined, emptyVector, mortal, dot, 0));
    for (const { node } of ring.placement(at)) {
      present(stores.get(node), 'a store').objects.set(key.packed, { token: at, bytes });
    }
    expect(await keysOf(coverage('n1'))).toContain('mortal');
    for (const store of stores.values()) store.nowMs = 1000;
    expect(await keysOf(coverage('n1'))).not.toContain('mortal');
  });

  test('lists a key that a majority holds, although one replica has missed it', async () => {
    const { stores, coverage, ring } = cluster(names);
    const keys = fill(stores, ring, 200);
    const gone = new Set(keys.filter((_, index) => index % 5 === 0));
    for (const [index, name] of keys.entries()) {
      const key = objectKey(defaultType, bucketA, byteStringOf(name));
      const at = routeToken('STD', key.bucket, key.key);
      const replicas = ring.placement(at).map(({ node }) => present(stores.get(node), 'a store'));
      const lagging = present(replicas[index % 3], 'a replica');
      if (gone.has(name)) for (const store of replicas) if (store !== lagging) store.add(key, at, true, 2);
      if (!gone.has(name)) lagging.objects.delete(key.packed);
    }
    const expected = keys.filter((name) => !gone.has(name)).sort();
    for (const node of ['n1', 'n3', 'n5']) expect((await keysOf(coverage(node))).sort()).toEqual(expected);
  });

  test('names the buckets once', async () => {
    const { stores, coverage, ring } = cluster(names);
    fill(stores, ring, 50);
    const buckets: ByteString[] = [];
    for await (const some of coverage('n5').buckets(defaultType, 1_000_000)) buckets.push(...some);
    expect(buckets).toEqual(['a']);
  });

  test('fails with NoTargets if no replica of an arc is routable, and with Timeout past its deadline', async () => {
    const { stores, away, coverage, ring } = cluster(names);
    fill(stores, ring, 50);
    for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) away.add(name);
    await expect(keysOf(coverage('n6'))).rejects.toMatchObject({ code: 'NoTargets' });
    const late = coverage('n1').keys(defaultType, bucketA, { live: true }, 0);
    await expect(late.next()).rejects.toMatchObject({ code: 'Timeout' });
  });

  test('ends with its node, which leaves no timer of it behind', async () => {
    const { away, timers, coverage } = cluster(names);
    for (const name of names) if (name !== 'n6') away.add(name);
    timers.held = true;
    const listing = keysOf(coverage('n6'));
    const outcome = expect(listing).rejects.toMatchObject({ code: 'ShuttingDown' });
    while (timers.pending === 0) await Promise.resolve();
    coverage('n6').stop();
    await outcome;
    expect(timers.pending).toBe(0);
    await expect(keysOf(coverage('n6'))).rejects.toMatchObject({ code: 'ShuttingDown' });
  });

  test('fetches no more names than its reader needs', async () => {
    const { stores, asked, coverage, ring } = cluster(names.slice(0, 3));
    const keys = fill(stores, ring, 200);
    const seen: ByteString[] = [];
    const options = { live: true, namesMax: 5 };
    for await (const page of coverage('n1').keys(defaultType, bucketA, options, 60_000_000)) {
      expect(page.names.length).toBeLessThanOrEqual(5);
      expect(page.names.every(({ token: at }) => at <= page.reached + 1)).toBe(true);
      seen.push(...page.names.map(({ name }) => name));
    }
    expect(seen.toSorted()).toEqual(keys.toSorted());
    // n1 asks itself without a message, and one other replica per page. Empty slices end most pages.
    expect(asked.length).toBeLessThan(100);
  });

  test('asks no replica after its reader has ended the iteration', async () => {
    const { stores, asked, coverage, ring } = cluster(names);
    fill(stores, ring, 300);
    const listing = coverage('n1').keys(defaultType, bucketA, { live: true }, 60_000_000);
    await listing.next();
    await listing.return();
    const before = asked.length;
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    expect(asked.length - before).toBeLessThan(4);
  });
});

describe('the messages of a listing', () => {
  const text = fc.uint8Array({ maxLength: 20 }).map((bytes) => byteStringFrom(bytes));
  const cursor = fc.record({
    from: token.map((at) => at as Token),
    skip: fc.option(text, { nil: undefined }),
  });
  const request: fc.Arbitrary<ListingRequest> = fc
    .record({
      type: text,
      bucket: fc.option(text, { nil: undefined }),
      live: fc.boolean(),
      to: token.map((at) => at as Token),
      at: cursor,
      namesMax: fc.nat(),
    })
    .map(({ at, namesMax, ...rest }) => ({ ...rest, ...at, ...(namesMax === 0 ? {} : { namesMax }) }));
  const answer: fc.Arbitrary<ListingAnswer> = fc.record({
    names: fc.oneof(
      fc.array(fc.record({ name: text, token: token.map((at) => at as Token) }), { maxLength: 5 }),
      fc.array(
        fc.record({
          name: text,
          token: token.map((at) => at as Token),
          known: fc.record({ counter: fc.maxSafeNat(), deleted: fc.boolean() }),
        }),
        { maxLength: 5 },
      ),
    ),
    next: fc.option(cursor, { nil: undefined }),
  });

  test('round-trip', () => {
    fc.assert(
      fc.property(request, answer, (asked, given) => {
        expect(decodeListingRequest(encodeListingRequest(asked))).toEqual(asked);
        expect(decodeListingAnswer(encodeListingAnswer(given))).toEqual(given);
      }),
    );
  });

  test('malformed bytes are refused with BadRequest', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const decode of [decodeListingRequest, decodeListingAnswer]) {
          try {
            decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(LockstepError);
          }
        }
      }),
    );
  });
});
