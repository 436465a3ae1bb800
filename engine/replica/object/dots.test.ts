import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { Actor, Dot, VersionVector } from './dots.ts';
import {
  compareDots,
  compareVectors,
  counterOf,
  covers,
  describeVector,
  emptyVector,
  highestCounter,
  instantMsOf,
  isNewerDot,
  mergeVectors,
  nextCounter,
  readVector,
  seenCounterMax,
  writeVector,
} from './dots.ts';

const actors = ['a', 'a.00', 'b', 'n1.5f', 'n1.60', 'ÿ'] as const;
/** The model of a vector: a counter for every actor, 0 for none. */
const twins = fc.tuple(...actors.map(() => fc.nat(4)));
const dots: fc.Arbitrary<Dot> = fc.record({
  actor: fc.constantFrom(...actors).map((actor) => actor as Actor),
  counter: fc.integer({ min: 1, max: 5 }),
});

function vectorOf(twin: readonly number[]): VersionVector {
  return actors.flatMap((actor, index) => {
    const counter = twin[index] ?? 0;
    return counter === 0 ? [] : [{ actor: actor as Actor, counter }];
  });
}

describe('version vectors', () => {
  it('cover, compare and merge as arrays of counters do', () => {
    fc.assert(
      fc.property(twins, twins, dots, (left, right, dot) => {
        const [one, other] = [vectorOf(left), vectorOf(right)];
        expect(mergeVectors(one, other)).toEqual(
          vectorOf(left.map((count, at) => Math.max(count, right[at] ?? 0))),
        );
        const behind = left.some((count, at) => count < (right[at] ?? 0));
        const ahead = left.some((count, at) => count > (right[at] ?? 0));
        const ordering = ahead ? (behind ? 'concurrent' : 'after') : behind ? 'before' : 'equal';
        expect(compareVectors(one, other)).toBe(ordering);
        const place = actors.findIndex((actor) => actor === dot.actor);
        expect(counterOf(one, dot.actor)).toBe(left[place]);
        expect(covers(one, dot)).toBe((left[place] ?? 0) >= dot.counter);
        expect(highestCounter(one)).toBe(Math.max(...left));
      }),
      { numRuns: 1000 },
    );
  });

  it('round-trip through their codec', () => {
    fc.assert(
      fc.property(twins, (twin) => {
        const writer = new ByteWriter(1);
        writeVector(writer, vectorOf(twin));
        const reader = new ByteReader(writer.finish());
        expect(readVector(reader)).toEqual(vectorOf(twin));
        reader.end();
      }),
    );
  });

  it('throw BytesError when out of order, repeated, or without counter or actor', () => {
    const bad: readonly (readonly Dot[])[] = [
      [dotOf('b', 1), dotOf('a', 1)],
      [dotOf('a', 1), dotOf('a', 2)],
      [dotOf('a', 0)],
      [dotOf('', 1)],
    ];
    for (const vector of bad) {
      const writer = new ByteWriter();
      writeVector(writer, vector);
      expect(() => readVector(new ByteReader(writer.finish()))).toThrow(BytesError);
    }
  });

  it('are described as text', () => {
    expect(describeVector(vectorOf([0, 2, 0, 1, 0, 0]))).toBe('[a.00:2 n1.5f:1]');
    expect(describeVector(emptyVector)).toBe('[]');
  });
});

describe('dots', () => {
  it('both orders of dots are total', () => {
    fc.assert(
      fc.property(dots, dots, dots, (a, b, c) => {
        const same = a.actor === b.actor && a.counter === b.counter;
        expect(compareDots(a, b) === 0).toBe(same);
        expect(Math.sign(compareDots(a, b)) + Math.sign(compareDots(b, a))).toBe(0);
        if (compareDots(a, b) < 0 && compareDots(b, c) < 0) expect(compareDots(a, c)).toBeLessThan(0);
        expect(Number(isNewerDot(a, b)) + Number(isNewerDot(b, a))).toBe(same ? 0 : 1);
        if (isNewerDot(a, b) && isNewerDot(b, c)) expect(isNewerDot(a, c)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('a counter is beyond all known ones, follows the clock, and its time never goes back', () => {
    const instants = fc.nat({ max: Date.UTC(2100, 0) });
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 52 }), instants, (known, nowMs) => {
        const counter = nextCounter(known, nowMs);
        expect(Number.isSafeInteger(counter)).toBe(true);
        expect(counter).toBeGreaterThan(known);
        expect(instantMsOf(dotOf('a', counter))).toBeGreaterThanOrEqual(nowMs);
        expect(nextCounter(counter, nowMs)).toBe(counter + 1);
        if (nextCounter(0, nowMs) > known) expect(instantMsOf(dotOf('a', counter))).toBe(nowMs);
      }),
    );
    expect(nextCounter(0, 0)).toBe(1);
  });

  it('a context may be a week ahead of the clock, or as far ahead as the key is', () => {
    const nowMs = Date.UTC(2026, 0);
    const week = 7 * 24 * 60 * 60 * 1000;
    expect(seenCounterMax(0, nowMs)).toBe(nextCounter(0, nowMs + week));
    expect(seenCounterMax(2 ** 52, nowMs)).toBe(2 ** 52);
    expect(seenCounterMax(0, Date.UTC(2200, 0))).toBeLessThan(Number.MAX_SAFE_INTEGER);
  });
});

function dotOf(actor: string, counter: number): Dot {
  return { actor: actor as Actor, counter };
}
