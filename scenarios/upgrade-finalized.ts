import type { Scenario } from '../sim/plan/scenario.ts';
import {
  mending,
  quietInvariants,
  quietly,
  transactionInvariants,
  transactionSettings,
  transfers,
} from './shared.ts';

export const upgradeFinalized: Scenario = {
  name: 'upgrade-finalized',
  description:
    'operators install today’s build and finalize the upgrade under load, crashes, partitions and power loss, and nodes are started as the build before: it is finalized at every member or refused',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...quietly,
    thinkUs: [0, 150_000],
    transactions: { ...transfers, clients: 2, count: [20, 30], thinkUs: [0, 300_000] },
  },
  faults: [
    { kind: 'upgrade', count: [3, 6], always: true },
    {
      kind: 'build-change',
      count: [2, 5],
      forUs: [10_000, 400_000],
      choices: { build: ['older', 'middle', 'newer'] },
      always: true,
    },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 500_000] },
    { kind: 'power-loss', count: [0, 2], forUs: [50_000, 500_000] },
    // Some members have recorded the minimum, and others have not.
    {
      kind: 'network-partition',
      count: [1, 2],
      forUs: [200_000, 1_500_000],
      sideMax: 1,
      after: { event: 'upgrade.finalize.began', nth: [1, 2], delayUs: [0, 1_500] },
      always: true,
    },
    {
      kind: 'power-loss',
      count: [1, 2],
      forUs: [50_000, 500_000],
      after: { event: 'upgrade.finalize.began', nth: [1, 2], delayUs: [0, 4_000] },
    },
    {
      kind: 'build-change',
      count: [1, 2],
      forUs: [10_000, 200_000],
      choices: { build: ['older'] },
      after: { event: 'upgrade.version.finalized', nth: [1, 2], delayUs: [0, 300_000] },
    },
    { kind: 'network-partition', count: [0, 2], forUs: [200_000, 1_000_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: { ...mending, ...transactionSettings },
  invariants: { ...transactionInvariants, ...quietInvariants, 'upgrade-finality': 8 },
};
