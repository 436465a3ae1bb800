import type { Scenario } from '../sim/plan/scenario.ts';
import { mending, quietInvariants, quietly } from './shared.ts';

export const typesChanged: Scenario = {
  name: 'types-changed',
  description:
    'operators make bucket types and change their properties through different nodes, which crash, lose power and are cut off: all nodes end with the same types',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: { ...quietly, operations: [40, 60], thinkUs: [0, 200_000], malformedInput: [0, 2] },
  typeChanges: [16, 28],
  faults: [
    { kind: 'network-partition', count: [1, 3], forUs: [400_000, 1_400_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [1, 2], forUs: [200_000, 900_000], always: true },
    { kind: 'power-loss', count: [0, 2], forUs: [200_000, 900_000] },
    {
      kind: 'message-loss',
      count: [0, 2],
      forUs: [500_000, 1_500_000],
      params: { oneIn: [2, 4] },
      sideMax: 1,
    },
    { kind: 'clock-skew', count: [0, 1] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  settings: { ...mending, request_timeout_ms: 700, peer_request_timeout_ms: 300, gossip_interval_ms: 100 },
  invariants: { ...quietInvariants, 'no-ambient-time': 2, 'no-silent-failures': 3, 'bucket-properties': 6 },
};
