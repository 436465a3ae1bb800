import type { Scenario } from '../sim/plan/scenario.ts';
import { askedAgain, named } from './retries-during-ring-change.ts';
import { mendingAlone, quietly, transactionInvariants, transactionSettings } from './shared.ts';

// A disk that went back says of a transaction whose answer was lost that it never was (`outcome-stability`), as of
// every other record.
const { 'outcome-stability': _, ...judged } = transactionInvariants;

export const retriesAfterDiskRollback: Scenario = {
  name: 'retries-after-disk-rollback',
  description:
    'a node returns on an older image of its disk, and clients retry what it applied since: it learns the outcomes from other replicas',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  // What only one replica acknowledged is lost with its disk, and conditions are checked against what it holds.
  load: { ...quietly, transactions: { ...named, kinds: { put: 100 }, forcedPercent: 0, onePercent: 0 } },
  faults: [
    {
      kind: 'disk-rollback',
      count: [1, 1],
      forUs: [100_000, 600_000],
      targets: ['n1'],
      params: { ageMs: [800, 2_000] },
      atUs: [2_200_000, 3_000_000],
      always: true,
    },
    ...askedAgain,
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 60_000,
  repairedBy: 'sweeps',
  settings: { ...transactionSettings, ...mendingAlone },
  invariants: { ...judged, atomicity: 0, 'strict-serializability': 0, 'exactly-once': 60 },
};
