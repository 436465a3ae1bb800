import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { Actor, Dot } from './dots.ts';
import { compareVectors, covers, instantMsOf, mergeVectors, nextCounter } from './dots.ts';
import type { StoredObject } from './object.ts';
import { decodeObject, encodeObject, mergeObjects, sameObject } from './object.ts';
import type { ContextLimits } from './prune.ts';
import { pruneContext } from './prune.ts';
import { contentOf, histories, play } from './replicas.contract.ts';

const limits: fc.Arbitrary<ContextLimits> = fc.record({
  smallVclock: fc.integer({ min: 1, max: 4 }),
  bigVclock: fc.integer({ min: 1, max: 6 }),
  youngVclock: fc.nat(3),
  oldVclock: fc.nat(5),
});

/** Entries of old incarnations, older than anything that a history writes. */
const olds: fc.Arbitrary<readonly Dot[]> = fc
  .uniqueArray(fc.record({ incarnation: fc.nat(8), second: fc.nat(9) }), {
    selector: ({ incarnation }) => incarnation,
    maxLength: 8,
  })
  .map((lives) =>
    lives
      .map(({ incarnation, second }) => ({
        actor: `a${incarnation}.00` as Actor,
        counter: nextCounter(0, second * 1000),
      }))
      .filter(({ counter }) => counter > 0)
      .sort((left, right) => (left.actor < right.actor ? -1 : 1)),
  );

function withEntries(object: StoredObject, entries: readonly Dot[]): StoredObject {
  return { context: mergeVectors(object.context, entries), siblings: object.siblings };
}

const nowMs = 12_000;

test('pruning keeps every sibling covered, and the result encodes as an object', () => {
  fc.assert(
    fc.property(histories, olds, limits, (history, entries, bounds) => {
      for (const { object } of play(history).replicas) {
        if (object === undefined) continue;
        const grown = withEntries(object, entries);
        const pruned = pruneContext(grown, bounds, nowMs);
        expect(pruned.siblings).toEqual(grown.siblings);
        expect(pruned.siblings.every(({ dot }) => covers(pruned.context, dot))).toBe(true);
        expect(sameObject(decodeObject(encodeObject(pruned)), pruned)).toBe(true);
        expect(['equal', 'before']).toContain(compareVectors(pruned.context, grown.context));
      }
    }),
  );
});

test('pruning drops the oldest entries, only beyond the small limit, never young ones, down to the limits', () => {
  fc.assert(
    fc.property(histories, olds, limits, (history, entries, bounds) => {
      const [first] = play(history).replicas;
      if (first?.object === undefined) return;
      const grown = withEntries(first.object, entries);
      const pruned = pruneContext(grown, bounds, nowMs);
      const gone = grown.context.filter((entry) => !pruned.context.includes(entry));
      const standing = new Set(grown.siblings.map(({ dot }) => dot.actor));
      const spare = pruned.context.filter(({ actor }) => !standing.has(actor));
      const ageOf = (entry: Dot): number => nowMs - instantMsOf(entry);
      for (const entry of gone) {
        expect(ageOf(entry)).toBeGreaterThanOrEqual(bounds.youngVclock * 1000);
        for (const kept of spare) expect(ageOf(entry)).toBeGreaterThanOrEqual(ageOf(kept));
      }
      if (gone.length > 0) expect(pruned.context.length).toBeGreaterThanOrEqual(bounds.smallVclock);
      // The remaining entries are young, or within the limits.
      const oldest = Math.max(-1, ...spare.map(ageOf));
      const small = pruned.context.length <= bounds.smallVclock;
      const within = pruned.context.length <= bounds.bigVclock && oldest <= bounds.oldVclock * 1000;
      expect(small || within || oldest < bounds.youngVclock * 1000).toBe(true);
    }),
  );
});

test('merged with any replica, a pruned object shows every value that the unpruned one shows', () => {
  fc.assert(
    fc.property(histories, olds, limits, (history, entries, bounds) => {
      const { replicas } = play(history);
      for (const { object } of replicas) {
        for (const { object: other } of replicas) {
          if (object === undefined || other === undefined) continue;
          const grown = withEntries(object, entries);
          const whole = mergeObjects(grown, other);
          const merged = mergeObjects(pruneContext(grown, bounds, nowMs), other);
          const dots = new Set(merged.siblings.map(({ dot }) => `${dot.actor} ${dot.counter}`));
          for (const { dot } of whole.siblings) expect(dots.has(`${dot.actor} ${dot.counter}`)).toBe(true);
        }
      }
    }),
  );
});

test('a context stays within the big limit, however many incarnations write', () => {
  const bounds: ContextLimits = { smallVclock: 10, bigVclock: 20, youngVclock: 5, oldVclock: 100 };
  let object: StoredObject | undefined;
  let longest = 0;
  for (let incarnation = 0; incarnation < 200; incarnation++) {
    const incarnationMs = incarnation * 1000;
    const dot = {
      actor: `n1.${String(incarnation).padStart(4, '0')}` as Actor,
      counter: nextCounter(0, incarnationMs + 1),
    };
    const sibling = { ...contentOf('value'), dot, lastModifiedMs: incarnationMs, basis: 0 };
    const grown = { context: mergeVectors(object?.context ?? [], [dot]), siblings: [sibling] };
    object = pruneContext(grown, bounds, incarnationMs);
    longest = Math.max(longest, object.context.length);
  }
  expect(longest).toBe(20);
});
