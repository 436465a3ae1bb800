/** Scenarios and invariants as somebody else writes them: what `--scenarios` loads. */

export const scenarios = [
  {
    name: 'tiny-crashes',
    story: 'nodes die under a handful of writes',
    cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
    load: {
      clients: 2,
      operations: [6, 10],
      keys: 3,
      siblingKeys: 1,
      thinkUs: [0, 10_000],
      valueBytes: [16, 100],
      kinds: { get: 1, put: 2 },
      needs: { quorum: 1 },
      garbage: [0, 0],
      scrapes: [0, 0],
    },
    faults: [{ kind: 'process-crash', count: [1, 2], forUs: [10_000, 50_000], always: true }],
    stormMs: 100,
    calmMs: 50,
    settleMsMax: 10_000,
    invariants: { durability: 1, 'no-silent-failures': 3 },
  },
];

/** Wrong on purpose: every run writes something. */
export const invariants = [
  {
    name: 'nobody-writes',
    check({ operations }, tally) {
      for (const { id, kind, key, invokedUs } of operations) {
        tally.compare(kind === 'get', invokedUs, () => `#${id} is a ${kind} of ${key}`);
      }
    },
  },
];
