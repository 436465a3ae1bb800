import { setImmediate } from 'node:timers/promises';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { Content } from '../replica/object/content.ts';
import { tombstone } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { applyWrite, decodeObject, encodeObject, mergeObjects } from '../replica/object/object.ts';
import { defaultProperties } from '../buckets/properties.ts';
import type { Member } from '../cluster/ring/ring.ts';
import { Ring } from '../cluster/ring/ring.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { ClusterDispatcher } from './cluster-dispatcher.ts';
import type { PeerLinks, ReplyHandler } from './peer-links.ts';
import type { ConsistencyLevel } from './requests.ts';
import type { MemoryStore } from '../replica/key-slots.ts';
import { nothingLost } from '../replica/replica-harness.fixture.ts';
import { roundPartsOf } from './round-parts.fixture.ts';

const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
const timeoutMs = 1_000;

function member(node: string, datacenter: string, rack: string): Member {
  return { node: node as NodeId, datacenter, rack, tokens: [0 as Token] };
}

function valueOf(text: string, seen?: StoredObject): StoredObject {
  const content: Content = { ...tombstone, tombstone: false, value: Buffer.from(text) };
  const dot = { actor: byteStringOf(text) as Actor, counter: 1 };
  return applyWrite(seen, seen?.context ?? emptyVector, content, dot, 0);
}

const old = valueOf('old');
/** What a copy may hold: nothing, a value, a value that replaced it, or a concurrent one. */
const contents = { none: undefined, old, young: valueOf('young', old), beside: valueOf('beside') };
type Held = keyof typeof contents;

interface Asked {
  readonly peer: string;
  readonly request: PeerRequest;
  readonly onReply: ReplyHandler;
}

/**
 * Replicas that each hold one key, some of them dead (they answer with a failure), read by a node without a copy. The
 * test decides when, and in which order, they answer.
 */
class Copies implements PeerLinks {
  readonly stats = new NodeStats();
  readonly clock = new TestClock();
  readonly copies: Map<string, StoredObject | undefined>;
  readonly merges: string[] = [];
  readonly #dead: readonly string[];
  readonly #waiting: Asked[] = [];
  readonly #dispatcher: ClusterDispatcher;
  /** Replicas that refuse repairs. */
  readonly stubborn = new Set<string>();

  constructor(level: ConsistencyLevel, copies: ReadonlyMap<string, Held>, dead: readonly string[] = []) {
    this.copies = new Map([...copies].map(([node, held]) => [node, contents[held]]));
    this.#dead = dead;
    const members = [...copies.keys()].map((node, index) =>
      member(node, node.startsWith('far') ? 'west' : 'east', `r${index}`),
    );
    const ring = new Ring(members);
    const self = member('reader', 'east', 'r0');
    const store: MemoryStore = {
      inMemory: () => 'elsewhere',
      tryRead: () => 'closed',
      tryReadDoubted: () => 'closed',
      ...nothingLost,
      tryWrite: () => 'closed',
    };
    const properties = { ...defaultProperties, allowMult: true };
    const settings = { readLevel: level, writeLevel: 'DC_QUORUM', timeoutMs } as const;
    this.#dispatcher = new ClusterDispatcher(
      roundPartsOf(
        { self, ring, plane: this, store, clock: this.clock, properties },
        { stats: this.stats, settings },
      ),
    );
  }

  request(peer: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): 'ok' {
    this.#waiting.push({ peer, request, onReply });
    return 'ok';
  }

  /**
   * Reads; `turns` picks which unanswered replica answers next. Resolves with the client's answer, or the error's code.
   */
  async read(turns: readonly number[]): Promise<{ readonly got: string; readonly text: string }> {
    const read = this.#dispatcher.get({ key, need: 'default' }).then(
      ({ object }) => ({ got: nameOf(object), text: '' }),
      (error: unknown) => {
        if (!(error instanceof LockstepError)) throw error;
        return { got: error.code, text: error.message };
      },
    );
    let turn = 0;
    for (;;) {
      await setImmediate();
      if (this.#waiting.length === 0) break;
      const next = (turns[turn++] ?? 0) % this.#waiting.length;
      const [asked] = this.#waiting.splice(next, 1);
      if (asked !== undefined) asked.onReply(this.#replyOf(asked));
    }
    return read;
  }

  #replyOf({ peer, request }: Asked): PeerReply {
    if (this.#dead.includes(peer))
      return { kind: 'failed', code: 'StorageFailed', detail: `${peer} is dead` };
    const held = this.copies.get(peer);
    if (request.kind === 'readObject')
      return { kind: 'object', object: held === undefined ? undefined : encodeObject(held) };
    if (request.kind !== 'mergeObject') throw new Error(`${peer} was asked for ${request.kind}`);
    this.merges.push(peer);
    if (this.stubborn.has(peer)) return { kind: 'failed', code: 'Overloaded', detail: 'no' };
    const brought = decodeObject(request.object);
    this.copies.set(peer, held === undefined ? brought : mergeObjects(held, brought));
    return { kind: 'written' };
  }
}

function nameOf(object: StoredObject | undefined): string {
  if (object === undefined) return 'none';
  return object.siblings.map(({ value }) => Buffer.from(value).toString()).join(' and ');
}

function sizeOfLargestClass(held: readonly Held[]): number {
  return Math.max(0, ...held.map((one) => held.filter((other) => other === one).length));
}

const heldWords = Object.keys(contents) as readonly Held[];
const turns = fc.array(fc.nat(9), { maxLength: 24 });

function three(...held: readonly Held[]): ReadonlyMap<string, Held> {
  return new Map(held.map((one, index) => [`n${index}`, one]));
}

describe('a read at a SAFE level', () => {
  it.each(['DC_SAFE_QUORUM', 'DC_EACH_SAFE_QUORUM'] as const)(
    '%s: equal copies agree in whatever order they answer, and nothing is repaired',
    async (level) => {
      const racks = fc.constantFrom(1, 2, 3, 4, 5);
      await fc.assert(
        fc.asyncProperty(
          racks,
          racks,
          fc.constantFrom(...heldWords),
          turns,
          async (near, far, held, order) => {
            const names = [
              ...Array.from({ length: near }, (_, index) => `n${index}`),
              ...Array.from({ length: far }, (_, index) => `far${index}`),
            ];
            const copies = new Copies(level, new Map(names.map((name) => [name, held])));
            expect((await copies.read(order)).got).toBe(held);
            expect(copies.merges).toEqual([]);
            expect(copies.stats.readDisagreements).toEqual({ answered: 0, refused: 0, failed: 0 });
          },
        ),
      );
    },
  );

  it('succeeds if a majority of the copies is equal and alive, with what that majority holds', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...heldWords), fc.boolean()), { minLength: 1, maxLength: 5 }),
        turns,
        async (drawn, order) => {
          const needed = Math.floor(drawn.length / 2) + 1;
          const alive = drawn.filter(([, dead]) => !dead).map(([held]) => held);
          const agreed = heldWords.find((word) => alive.filter((one) => one === word).length >= needed);
          fc.pre(agreed !== undefined);
          const names = drawn.map(([held], index) => [`n${index}`, held] as const);
          const dead = names.filter((_, index) => drawn[index]?.[1] === true).map(([name]) => name);
          const copies = new Copies('DC_SAFE_QUORUM', new Map(names), dead);
          const { got } = await copies.read(order);
          // Other answers may have come first; the client is still shown what a majority holds.
          expect(got).toBe(agreed);
        },
      ),
    );
  });

  it('fails with too few answers, not with a disagreement, if too few replicas are alive', async () => {
    const copies = new Copies('DC_SAFE_QUORUM', three('old', 'young', 'young'), ['n1', 'n2']);
    expect(await copies.read([])).toMatchObject({ got: 'NoQuorum' });
    expect(copies.stats.readDisagreements).toEqual({ answered: 0, refused: 0, failed: 0 });
  });

  it('repairs differing copies and reads once more, without an error for the client', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...heldWords), { minLength: 2, maxLength: 5 }),
        turns,
        async (held, order) => {
          fc.pre(sizeOfLargestClass(held) < Math.floor(held.length / 2) + 1);
          const copies = new Copies('DC_SAFE_QUORUM', three(...held));
          const { got } = await copies.read(order);
          expect(copies.stats.readDisagreements).toEqual({ answered: 1, refused: 0, failed: 0 });
          const shown = copies.copies.get('n0');
          expect(got).toBe(nameOf(shown));
          // All copies are equal afterwards.
          for (const copy of copies.copies.values()) expect(nameOf(copy)).toBe(got);
        },
      ),
    );
  });

  it('fails, with the key in its text, if copies still differ after one repair', async () => {
    const copies = new Copies('DC_SAFE_QUORUM', three('old', 'young', 'beside'));
    for (const node of ['n0', 'n1', 'n2']) copies.stubborn.add(node);
    const { got, text } = await copies.read([]);
    expect(got).toBe('ReplicasDisagree');
    expect(text).toContain('b/k');
    expect(text).toContain('repair has begun');
    expect(copies.stats.readDisagreements).toEqual({ answered: 0, refused: 1, failed: 0 });
    expect(copies.stats.pool.client_non_quorum_r_responses).toBe(1);
    // Each of the two reads has sent each stale copy the merged object once.
    expect(copies.merges.toSorted()).toEqual(['n0', 'n0', 'n1', 'n1', 'n2', 'n2']);
  });

  it('succeeds with one copy dead and two differing, once those two are equal', async () => {
    const copies = new Copies('DC_SAFE_QUORUM', three('old', 'young', 'none'), ['n2']);
    expect(await copies.read([])).toMatchObject({ got: 'young' });
    expect(nameOf(copies.copies.get('n0'))).toBe('young');
  });

  it('requires an agreeing majority in each datacenter', async () => {
    const held = new Map<string, Held>([
      ...three('young', 'young', 'young'),
      ['far0', 'old'],
      ['far1', 'young'],
      ['far2', 'old'],
    ]);
    const copies = new Copies('DC_EACH_SAFE_QUORUM', held);
    expect(present(await copies.read([]), 'an answer').got).toBe('young');
  });
});
