/** Mutants of what single puts, hints and jobs promise: conditions, one effect for each put, counters, keys found. */
import type { Mutant } from './mutant.ts';

/** Mutants that scenarios with conditional puts, hints and jobs must detect. */
export const oracleMutants: readonly Mutant[] = [
  {
    name: 'condition-on-older-context',
    code: 'M125',
    title: 'a put on condition of a context passes although the key has had further writes since',
    file: 'engine/replica/replica.js',
    find: "compareVectors(current.context, write.ifContext) !== 'equal'",
    replace: "compareVectors(current.context, write.ifContext) === 'concurrent'",
    scenario: 'conditional-puts',
    oracles: ['conditional-puts'],
    seedsMax: 5,
  },
  {
    name: 'absence-checked-for-siblings-alone',
    code: 'M126',
    title: 'a put on condition that the key holds nothing replaces a single value',
    file: 'engine/replica/replica.js',
    find: 'if (write.ifNoneMatch && current !== undefined && liveSiblings(current).length > 0)',
    replace: 'if (write.ifNoneMatch && current !== undefined && liveSiblings(current).length > 1)',
    scenario: 'conditional-puts',
    oracles: ['conditional-puts'],
    seedsMax: 5,
  },
  {
    name: 'write-repeated-elsewhere',
    code: 'M127',
    title: 'a replica that coordinated a write without success forwards it to another one, too',
    file: 'engine/replication/cluster-dispatcher.js',
    find: 'if (!isUnreadable(error) || placement.length === 1)',
    replace: "if (error.code === 'PreconditionFailed' || placement.length === 1)",
    scenario: 'conditional-puts',
    oracles: ['causality'],
    seedsMax: 10,
  },
  {
    name: 'joined-hint-not-counted',
    code: 'M128',
    title: 'a hint that joins the stored one of its key is not counted as stored',
    file: 'engine/replication/hints/hints.js',
    find: 'this.counts.stored += 1;',
    replace: 'this.counts.stored += object === missed.object ? 1 : 0;',
    scenario: 'conditional-puts',
    oracles: ['hint-delivery'],
    seedsMax: 10,
  },
];
