/** Small fast-check arbitraries from which plans are generated. */
import fc from 'fast-check';

import type { Range, Weights } from './scenario.ts';

/** A whole number in the range, both ends included. */
export function integerIn([least, most]: Range): fc.Arbitrary<number> {
  return fc.integer({ min: least, max: most });
}

/** A list whose length is drawn evenly from `count`; fast-check's own lengths favour short lists. */
export function listOf<T>(count: Range, item: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return integerIn(count).chain((length) =>
    fc.array(item, { minLength: length, maxLength: length, size: 'max' }),
  );
}

/** One of the words, drawn in proportion to its weight; words of weight 0 never. */
export function weighted<Word extends string>(weights: Weights<Word>): fc.Arbitrary<Word> {
  const choices: fc.WeightedArbitrary<Word>[] = [];
  for (const [word, weight] of Object.entries(weights) as [Word, number][]) {
    if (weight > 0) choices.push({ arbitrary: fc.constant(word), weight });
  }
  return fc.oneof(...choices);
}
