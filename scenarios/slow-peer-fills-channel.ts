import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, mending } from './shared.ts';

export const slowPeerFillsChannel: Scenario = {
  name: 'slow-peer-fills-channel',
  description:
    'a peer reads nothing: its channel fills, further requests are refused and counted, and other replicas answer',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...everyday, clients: 12, operations: [500, 700], thinkUs: [0, 3_000], valueBytes: [2_000, 9_000] },
  faults: [
    {
      kind: 'network-clog',
      count: [1, 2],
      forUs: [800_000, 1_500_000],
      sideMax: 1,
      atUs: [0, 200_000],
      choices: { direction: ['in', 'both'] },
      always: true,
    },
    { kind: 'stream-fragmentation', count: [0, 2], forUs: [100_000, 800_000] },
  ],
  stormMs: 2_500,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mending, peer_outbox_count_max: 24 },
  invariants,
};
