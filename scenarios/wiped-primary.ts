import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const wipedPrimary: Scenario = {
  name: 'wiped-primary',
  description:
    'a node loses its disk amid transactions: it is primary of none before it has rebuilt its data, and all are atomic',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    transactions: {
      ...transfers,
      kinds: { transfer: 20, append: 25, twin: 15, stamp: 30, erase: 2, put: 8, look: 20 },
      structures: { accounts: 5, lists: 5, twins: 2, triples: 1 },
      // There are few primaries: while one node is cut off, the others go on.
      placesMax: 2,
      // What only one replica acknowledged is lost with its disk.
      onePercent: 0,
      namedPercent: 0,
    },
  },
  faults: [
    {
      kind: 'disk-wipe',
      count: [1, 1],
      forUs: [20_000, 400_000],
      targets: ['n1'],
      after: { event: 'xa.p.vote.sent', nth: [10, 60], delayUs: [0, 1_500] },
      atUs: [700_000, 1_500_000],
      always: true,
    },
    // One of the nodes that it must ask lacks what was written meanwhile.
    {
      kind: 'network-partition',
      count: [1, 1],
      forUs: [400_000, 1_200_000],
      targets: ['n2'],
      sideMax: 1,
      atUs: [200_000, 700_000],
      always: true,
    },
    {
      kind: 'process-crash',
      count: [0, 1],
      forUs: [20_000, 200_000],
      targets: ['n1'],
      after: { event: 'transfer.rebuild.began', nth: [1, 1], delayUs: [0, 3_000] },
      atUs: [600_000, 1_500_000],
    },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 4_000,
  calmMs: 3_000,
  settleMsMax: 60_000,
  repairedBy: 'sweeps',
  // Coordinators take long to send again what was lost.
  settings: { ...transactionSettings, ...mendingAlone, transaction_inquiry_ms: 1_000 },
  invariants: transactionInvariants,
};
