import type { Scenario } from '../sim/plan/scenario.ts';
import { mending, quietInvariants, quietly } from './shared.ts';

export const propertiesMissed: Scenario = {
  name: 'properties-missed',
  description:
    'an operator changes properties of buckets while messages between two nodes are lost: a node that misses a change, and whose fetch fails, fetches again',
  cluster: { datacenters: 1, racks: 2, nodesPerRack: 1 },
  load: { ...quietly, clients: 5, operations: [100, 140], thinkUs: [0, 200_000], malformedInput: [1, 3] },
  bucketChanges: [24, 32],
  faults: [
    {
      kind: 'message-loss',
      targets: ['n1', 'n2'],
      count: [2, 3],
      atUs: [0, 3_000_000],
      forUs: [1_500_000, 2_500_000],
      params: { oneIn: [3, 4] },
      sideMax: 1,
      always: true,
    },
    // What is changed now is offered in vain: the other node fetches it afterwards.
    {
      kind: 'network-partition',
      targets: ['n1', 'n2'],
      count: [2, 3],
      atUs: [3_500_000, 4_700_000],
      forUs: [900_000, 1_400_000],
      sideMax: 1,
      always: true,
    },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  settings: {
    ...mending,
    request_timeout_ms: 700,
    peer_request_timeout_ms: 300,
    gossip_interval_ms: 100,
  },
  invariants: {
    ...quietInvariants,
    causality: 20,
    'no-ambient-time': 2,
    'no-silent-failures': 3,
    'bucket-properties': 4,
  },
};
