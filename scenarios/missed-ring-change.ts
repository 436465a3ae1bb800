import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const missedRingChange: Scenario = {
  name: 'missed-ring-change',
  description:
    'a node is paused while another one joins, and hears no gossip when it resumes: no node serves it by the old ring',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  // Clients give up on a node that does not answer; it wakes while some still wait.
  load: {
    ...slowly,
    clients: 10,
    operations: [700, 900],
    keys: 40,
    thinkUs: [5_000, 60_000],
    kinds: { get: 55, put: 42, delete: 3 },
  },
  faults: [
    {
      kind: 'process-pause',
      count: [1, 1],
      targets: ['n3'],
      atUs: [200_000, 500_000],
      forUs: [1_500_000, 1_850_000],
      always: true,
    },
    // Its messages about members are lost in both directions, from before it sleeps until long after it has woken.
    {
      kind: 'message-filter',
      count: [1, 1],
      targets: ['n3'],
      sideMax: 1,
      atUs: [0, 150_000],
      forUs: [4_000_000, 4_400_000],
      choices: { message: ['gossip'] },
      always: true,
    },
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [300_000, 600_000], always: true },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 6_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, phi_threshold_milli: 3_000, transfer_bytes_per_second: 2_097_152 },
  invariants: { ...invariantsOnTheMove, convergence: 30, 'ring-agreement': 4, 'node-identity': 100 },
};
