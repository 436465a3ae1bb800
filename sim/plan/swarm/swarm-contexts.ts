/** Draws the limits of the causal contexts of siblings, and a load that reaches them. */
import fc from 'fast-check';

import { integerIn } from '../arbitraries.ts';
import type { LoadShape } from '../scenario.ts';

/** Added to `young_vclock` and `old_vclock` of runs that prune nothing: more seconds than a run lasts. */
const youngSeconds = 600;

/** Limits of causal contexts. */
export interface ContextDraw {
  /** The value of `sibling_contexts`. */
  readonly limits: string;
  /** Entries become old enough within a run. */
  readonly prunes: boolean;
}

/**
 * `small_vclock`, `big_vclock`, `young_vclock` and `old_vclock`. About half of the time they are reached within a run: from
 * a pruning on, a replaced value may rightly come back beside its replacement (evidence/prunings.ts). Else nothing of a
 * run is old enough to be pruned. Which of both, `longer` says, so that no other draw of the seed depends on it.
 */
export function contexts(): fc.Arbitrary<ContextDraw> {
  return fc
    .tuple(integerIn([1, 5]), integerIn([0, 5]), integerIn([0, 3]), integerIn([1, 17]))
    .map(([small, more, young, longer]) => {
      const prunes = longer % 2 === 0;
      const [few, seconds] = prunes
        ? [Math.ceil(small / 3), Math.floor(young / 3)]
        : [small, young + youngSeconds];
      const [many, old] = prunes
        ? [few + Math.floor(more / 4), seconds + longer / 4]
        : [few + more, seconds + longer];
      return { limits: [few, many, seconds, Math.ceil(old)].join(' '), prunes };
    });
}

/** Where contexts are pruned, the load writes few keys, most with siblings: an entry is pruned by a later write of its key. */
export function loadFor(drawn: ContextDraw | undefined, load: LoadShape): LoadShape {
  return drawn?.prunes === true ? { ...load, keys: 4 + (load.keys % 4), siblingKeys: 4 } : load;
}
