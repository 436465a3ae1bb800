import type { Scenario } from '../sim/plan/scenario.ts';
import { mending, quietInvariants, quietly } from './shared.ts';

export const modulesMissed: Scenario = {
  name: 'modules-missed',
  description:
    'a module is replaced again and again at nodes with slow disks, while a node is cut off: the nodes that miss it learn of it by gossip',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, operations: [60, 90], thinkUs: [0, 200_000], malformedInput: [1, 3] },
  faults: [
    { kind: 'wasm-module-swap', count: [3, 6], atUs: [500_000, 4_000_000], always: true },
    {
      kind: 'slow-disk',
      targets: ['n1', 'n2', 'n3'],
      count: [3, 5],
      forUs: [3_000_000, 6_000_000],
      atUs: [0, 1_000_000],
      params: { meanUs: [20_000, 60_000], tailUs: [0, 60_000] },
      always: true,
    },
    { kind: 'network-partition', count: [0, 2], forUs: [400_000, 1_200_000], sideMax: 1 },
    // What is replaced now at the node that is cut off is sent in vain.
    {
      kind: 'network-partition',
      targets: ['n3'],
      count: [1, 1],
      atUs: [4_200_000, 4_500_000],
      forUs: [1_400_000, 1_700_000],
      sideMax: 1,
      always: true,
    },
    {
      kind: 'wasm-module-swap',
      targets: ['n3'],
      count: [2, 4],
      atUs: [4_900_000, 5_500_000],
      always: true,
    },
    { kind: 'process-crash', count: [0, 1], forUs: [100_000, 800_000] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: { ...mending, features_wasm: true, gossip_interval_ms: 50, peer_request_timeout_ms: 300 },
  invariants: { ...quietInvariants, causality: 20, 'wasm-purity': 40 },
};
