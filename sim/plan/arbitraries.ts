/** Small arbitraries that the generation of plans is made of. */
import fc from 'fast-check';

import type { Range, Weights } from './scenario.ts';

export function integerIn([least, most]: Range): fc.Arbitrary<number> {
  return fc.integer({ min: least, max: most });
}

/** A list of exactly so many: fast-check's own lengths lean to the short. */
export function listOf<T>(count: Range, item: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return integerIn(count).chain((length) =>
    fc.array(item, { minLength: length, maxLength: length, size: 'max' }),
  );
}

export function weighted<Word extends string>(weights: Weights<Word>): fc.Arbitrary<Word> {
  const choices: fc.WeightedArbitrary<Word>[] = [];
  for (const [word, weight] of Object.entries(weights) as [Word, number][]) {
    if (weight > 0) choices.push({ arbitrary: fc.constant(word), weight });
  }
  return fc.oneof(...choices);
}
