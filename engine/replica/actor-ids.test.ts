import fc from 'fast-check';
import { expect, it } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { clockSkewMsMax } from './object/dates.ts';
import type { Actor, VersionVector } from './object/dots.ts';
import {
  covers,
  emptyVector,
  highestCounter,
  instantMsOf,
  mergeVectors,
  nextCounter,
  withDot,
} from './object/dots.ts';
import { ActorIds } from './actor-ids.ts';

const incarnation = byteStringOf('n1.aa') as Actor;
const nowMs = Date.UTC(2026, 0);
const year = 365 * 86_400_000;
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(keyOf) as [PackedKey, PackedKey, PackedKey, PackedKey];

function keyOf(name: string): PackedKey {
  return objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed;
}

it('a renounced key gets a fresh actor, however many keys were renounced', () => {
  const names = new ActorIds(incarnation, 2);
  const actorOf = (key: PackedKey): string => names.next(key, emptyVector, emptyVector, nowMs).actor;
  expect([a, b].map(actorOf)).toEqual(['n1.aa', 'n1.aa']);
  names.renounce(a);
  expect([a, b].map(actorOf)).toEqual(['n1.aa+1', 'n1.aa']);
  names.renounce(b);
  names.renounce(a);
  expect([a, b, c].map(actorOf)).toEqual(['n1.aa+3', 'n1.aa+2', 'n1.aa']);
  // The limit is two keys: from now on all keys have a fresh actor.
  names.renounce(c);
  expect([a, b, c, d].map(actorOf)).toEqual(['n1.aa+4', 'n1.aa+4', 'n1.aa+4', 'n1.aa+4']);
  names.renounce(d);
  expect([c, d].map(actorOf)).toEqual(['n1.aa+4', 'n1.aa+5']);
});

it('what others write to a key that a transaction holds has an actor of its own', () => {
  const names = new ActorIds(incarnation);
  const heldBy = (key: PackedKey): string => names.next(key, emptyVector, emptyVector, nowMs, true).actor;
  expect([heldBy(a), names.next(a, emptyVector, emptyVector, nowMs).actor]).toEqual(['n1.aa~', 'n1.aa']);
  names.renounce(a);
  expect([heldBy(a), heldBy(b)]).toEqual(['n1.aa~+1', 'n1.aa~']);
});

it('detects a forged context under any actor of this incarnation', () => {
  const names = new ActorIds(incarnation);
  names.renounce(a);
  const dot = names.next(a, emptyVector, emptyVector, nowMs);
  expect(names.isForged([dot])).toBe(false);
  expect(names.isForged([{ ...dot, counter: dot.counter + 1 }])).toBe(true);
  expect(names.isForged([{ actor: incarnation, counter: dot.counter + 1 }])).toBe(true);
  expect(names.isForged([{ actor: byteStringOf('n2.bb') as Actor, counter: dot.counter + 1 }])).toBe(false);
});

function contextAt(atMs: number): VersionVector {
  return [{ actor: byteStringOf('n2.bb') as Actor, counter: nextCounter(0, atMs) }];
}

it('a key that is ahead of the clock affects no other key', () => {
  const names = new ActorIds(incarnation);
  const ahead = contextAt(nowMs + year);
  for (const [known, seen] of [
    [ahead, emptyVector],
    [emptyVector, ahead],
  ] as const) {
    expect(names.next(a, known, seen, nowMs).counter).toBe(highestCounter(ahead) + 1);
    expect(instantMsOf(names.next(b, emptyVector, emptyVector, nowMs))).toBe(nowMs);
    expect(names.mayExceedMark).toBe(true);
  }
  // Within the clock skew no two keys have the same dot.
  const near = names.next(a, contextAt(nowMs + 1), emptyVector, nowMs);
  expect(names.next(b, emptyVector, emptyVector, nowMs).counter).toBe(near.counter + 1);
  expect(instantMsOf(names.next(a, emptyVector, emptyVector, nowMs + 2))).toBe(nowMs + 2);
});

it('counters follow a clock that goes back, under a fresh actor', () => {
  const names = new ActorIds(incarnation);
  const before = names.next(a, emptyVector, emptyVector, nowMs);
  const wrong = names.next(a, [before], emptyVector, nowMs + year);
  const after = names.next(b, emptyVector, emptyVector, nowMs + 1000);
  expect([before.actor, wrong.actor]).toEqual([incarnation, incarnation]);
  expect(after.actor).toBe('n1.aa+1');
  expect(instantMsOf(after)).toBe(nowMs + 1000);
  // The contexts that clients got while the clock was wrong name writes that were made.
  expect(names.isForged([wrong])).toBe(false);
  // A clock that goes back a little does not change the actor.
  const little = names.next(c, emptyVector, emptyVector, nowMs + 1000 - clockSkewMsMax);
  expect([little.actor, little.counter]).toEqual([after.actor, after.counter + 1]);
});

interface Turn {
  readonly key: number;
  readonly kind: 'write' | 'forget' | 'renounce';
  readonly seenAheadMs: number | undefined;
  readonly clockMs: number;
}

const turns: fc.Arbitrary<readonly Turn[]> = fc.array(
  fc.record({
    key: fc.nat(3),
    kind: fc.constantFrom(
      'write' as const,
      'write' as const,
      'write' as const,
      'forget' as const,
      'renounce' as const,
    ),
    seenAheadMs: fc.option(fc.integer({ min: 0, max: year }), { nil: undefined }),
    clockMs: fc.constantFrom(0, 1, -1, 30_000, -30_000, year, -year),
  }),
  { maxLength: 40 },
);

it('no context that a key ever had covers a later write of it, for any clocks and clients', () => {
  fc.assert(
    fc.property(turns, (history) => {
      const names = new ActorIds(incarnation, 2);
      const keys = [a, b, c, d];
      const held = keys.map(() => emptyVector);
      const ever = keys.map(() => emptyVector);
      for (const { key: at, kind, seenAheadMs, clockMs } of history) {
        const key = keys[at] ?? a;
        const known = held[at] ?? emptyVector;
        const atMs = nowMs + clockMs;
        if (kind !== 'write') {
          if (kind === 'renounce' || names.isAhead(known)) names.renounce(key);
          held[at] = emptyVector;
          continue;
        }
        const seen = seenAheadMs === undefined ? emptyVector : contextAt(atMs + seenAheadMs);
        const dot = names.next(key, known, seen, atMs);
        expect(covers(ever[at] ?? emptyVector, dot)).toBe(false);
        expect(dot.counter).toBeGreaterThan(Math.max(highestCounter(known), highestCounter(seen)));
        expect(names.isForged([dot])).toBe(false);
        held[at] = withDot(mergeVectors(known, seen), dot);
        ever[at] = mergeVectors(ever[at] ?? emptyVector, held[at] ?? emptyVector);
      }
    }),
    { numRuns: 500 },
  );
});
