import fc from 'fast-check';
import { expect, it } from 'vitest';

import { ageMs, clockSkewMsMax, dateOfWrite, latestDateMs } from './dates.ts';
import type { Actor } from './dots.ts';
import { emptyVector } from './dots.ts';
import type { StoredObject } from './object.ts';
import { applyWrite } from './object.ts';
import { contentOf } from './replicas.contract.ts';

const nowMs = Date.UTC(2026, 0);
const year = 365 * 86_400_000;
const offsetMs = fc.oneof(fc.integer({ min: -year, max: year }), fc.integer({ min: -90_000, max: 90_000 }));

function objectOf(datesMs: readonly number[]): StoredObject {
  return datesMs.reduce<StoredObject | undefined>((object, dateMs, index) => {
    return applyWrite(
      object,
      emptyVector,
      contentOf('v'),
      { actor: `n${index}` as Actor, counter: 1 },
      dateMs,
    );
  }, undefined) as StoredObject;
}

it('a write is dated by the clock, and by the current object only within the clock skew', () => {
  fc.assert(
    fc.property(fc.array(offsetMs, { minLength: 1, maxLength: 4 }), (offsets) => {
      const object = objectOf(offsets.map((offset) => nowMs + offset));
      const date = dateOfWrite(object, nowMs);
      expect(date).toBeGreaterThanOrEqual(nowMs);
      expect(date).toBeLessThanOrEqual(nowMs + clockSkewMsMax);
      for (const offset of offsets)
        if (offset <= clockSkewMsMax) expect(date).toBeGreaterThanOrEqual(nowMs + offset);
    }),
  );
  expect(dateOfWrite(undefined, nowMs)).toBe(nowMs);
  // On a machine without a clock battery: dates that can be stored begin at the epoch.
  expect(dateOfWrite(undefined, -5)).toBe(0);
});

it('an object dated in the future has the age of one written now', () => {
  expect(ageMs(objectOf([nowMs - 5000, nowMs - 3000]), nowMs)).toBe(3000);
  expect(ageMs(objectOf([nowMs - 5000, nowMs + year]), nowMs)).toBe(0);
  expect(latestDateMs(objectOf([7, 9, 8]))).toBe(9);
});
