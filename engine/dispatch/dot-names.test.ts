import { expect, it } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { Actor } from '../object/dots.ts';
import { emptyVector } from '../object/dots.ts';
import { DotNames } from './dot-names.ts';

const life = byteStringOf('n1.aa') as Actor;
const clock = { nowUs: () => 0, wallMs: () => 1000, after: () => ({ cancel: () => undefined }) };
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(keyOf) as [PackedKey, PackedKey, PackedKey, PackedKey];

function keyOf(name: string): PackedKey {
  return objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed;
}

it('a key that was renounced has a name that nothing was written under, though many were', () => {
  const names = new DotNames(clock, life, 2);
  const actorOf = (key: PackedKey): string => names.next(key, emptyVector, emptyVector).actor;
  expect([a, b].map(actorOf)).toEqual(['n1.aa', 'n1.aa']);
  names.renounce(a);
  expect([a, b].map(actorOf)).toEqual(['n1.aa+1', 'n1.aa']);
  names.renounce(b);
  names.renounce(a);
  expect([a, b, c].map(actorOf)).toEqual(['n1.aa+3', 'n1.aa+2', 'n1.aa']);
  // There is room for no third: from now on all have a new name.
  names.renounce(c);
  expect([a, b, c, d].map(actorOf)).toEqual(['n1.aa+4', 'n1.aa+4', 'n1.aa+4', 'n1.aa+4']);
  names.renounce(d);
  expect([c, d].map(actorOf)).toEqual(['n1.aa+4', 'n1.aa+5']);
});

it('knows a forged context under whichever name of this life', () => {
  const names = new DotNames(clock, life);
  names.renounce(a);
  const dot = names.next(a, emptyVector, emptyVector);
  expect(names.isForged([dot])).toBe(false);
  expect(names.isForged([{ ...dot, counter: dot.counter + 1 }])).toBe(true);
  expect(names.isForged([{ actor: life, counter: dot.counter + 1 }])).toBe(true);
  expect(names.isForged([{ actor: byteStringOf('n2.bb') as Actor, counter: dot.counter + 1 }])).toBe(false);
});
