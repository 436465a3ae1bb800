/** Mutants of anti-entropy. */
import type { Mutant } from './mutant.ts';

/** Mutants that scenarios with anti-entropy must detect. */
export const antiEntropyMutants: readonly Mutant[] = [
  {
    name: 'xor-tree-hash',
    code: 'M24',
    title: 'hashes are combined by exclusive-or, under which equal ones cancel',
    file: 'engine/anti-entropy/tree.js',
    find: 'return { high: (left.high + right.high) >>> 0, low: (left.low + right.low) >>> 0 };',
    replace: 'return { high: (left.high ^ right.high) >>> 0, low: (left.low ^ right.low) >>> 0 };',
    scenario: 'no-churn-when-equal',
    oracles: ['exchange-soundness', 'metrics-reconcile'],
    seedsMax: 10,
  },
  {
    name: 'key-only-tree-hash',
    code: 'M25',
    title: "the tree's hashes cover keys, but not their values",
    file: 'engine/anti-entropy/entry-hash.js',
    find: "return hash('sha256', scratch.subarray(0, bytes), 'buffer');",
    replace: "return hash('sha256', scratch.subarray(0, 4 + key.length), 'buffer');",
    scenario: 'stale-snapshot',
    oracles: ['exchange-soundness', 'convergence', 'stale-snapshot-safety'],
    seedsMax: 10,
  },
  {
    name: 'stale-snapshot-accepted',
    code: 'M26',
    title: 'a snapshot older than the store is loaded as the current tree',
    file: 'engine/anti-entropy/snapshot.js',
    find: 'if (seq > position)',
    replace: 'if (seq > position && seq < 0)',
    scenario: 'stale-snapshot',
    // `stale-snapshot-safety` breaks from seed 2 on. Where the stale leaf differs from the peer's, the node finds it
    // wrong when it lists its keys, and counts a leaf that no fault altered: `metrics-reconcile`, from seed 1 on.
    oracles: ['stale-snapshot-safety', 'convergence', 'exchange-soundness', 'metrics-reconcile'],
    seedsMax: 20,
  },
  {
    name: 'rejection-counted-twice',
    code: 'M28',
    title: 'a rejected snapshot is counted twice',
    file: 'engine/anti-entropy/snapshot.js',
    find: 'metrics.snapshotRejected();',
    replace: 'metrics.snapshotRejected(); metrics.snapshotRejected();',
    scenario: 'snapshot-corruption',
    oracles: ['metrics-reconcile'],
    seedsMax: 10,
  },
  {
    name: 'repair-ignores-causality',
    code: 'M29',
    title: 'a replica keeps the lexically larger object of two, whatever their causality',
    file: 'engine/replica/replica.js',
    find: 'const merged = current === undefined ? incoming.object : mergeObjects(current, incoming.object);',
    replace: `const larger = (left, right) => (JSON.stringify(left) > JSON.stringify(right) ? left : right);
        const merged = current === undefined ? incoming.object : larger(current, incoming.object);`,
    scenario: 'stale-snapshot',
    oracles: ['durable-before-ack', 'causality', 'repair-soundness'],
    seedsMax: 20,
  },
  {
    name: 'unstable-object-hash',
    code: 'M32',
    title: 'equal objects have hashes that depend on when they were computed',
    file: 'engine/anti-entropy/entry-hash.js',
    find: 'let at = scratch.writeUInt32BE(key.length, 0);',
    replace: 'let at = scratch.writeUInt32BE((this.calls = (this.calls ?? 0) + 1), 0);',
    scenario: 'no-churn-when-equal',
    oracles: ['repair-soundness', 'exchange-soundness'],
    seedsMax: 10,
  },
];
