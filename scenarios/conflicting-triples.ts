import type { Scenario } from '../sim/plan/scenario.ts';
import { hotly, quietly, transactionInvariants, transactionSettings } from './shared.ts';

export const conflictingTriples: Scenario = {
  name: 'conflicting-triples',
  description:
    'all clients write, delete and read a few triples of keys at once: a deletion of absent keys waits for the others too, and no read sees half a transaction',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: {
      ...hotly,
      kinds: { stamp: 18, erase: 25, restamp: 25, move: 27, append: 15, look: 20 },
      structures: { accounts: 0, lists: 2, twins: 0, triples: 4 },
      placesMax: 2,
    },
  },
  faults: [
    // A prepare request arrives after other transactions have come and gone.
    {
      kind: 'one-way-partition',
      count: [6, 14],
      forUs: [20_000, 400_000],
      sideMax: 1,
      after: { event: 'xa.c.prepare.sent', nth: [1, 60], delayUs: [0, 300] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 2_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 800_000] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: transactionSettings,
  invariants: { ...transactionInvariants, 'strict-serializability': 10 },
};
