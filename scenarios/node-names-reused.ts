import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, onTheMove, slowly } from './shared.ts';

export const nodeNamesReused: Scenario = {
  name: 'node-names-reused',
  description:
    'one node leaves and one is replaced, both names join again with empty disks and other tokens, and a paused node learns all of it late',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 2,
    spares: [{ name: 'n7', datacenter: 'dc1', rack: 'r2', replaces: 'n2' }],
  },
  load: { ...slowly, operations: [500, 700], thinkUs: [50_000, 200_000] },
  faults: [
    // n5 sleeps from the beginning of the first change, which it remembers, until long after the last one.
    {
      kind: 'process-crash',
      count: [1, 1],
      targets: ['n5'],
      atUs: [400_000, 500_000],
      forUs: [20_000_000, 21_000_000],
      always: true,
    },
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [100_000, 300_000], always: true },
    { kind: 'membership-change', count: [1, 1], targets: ['n7'], atUs: [1_500_000, 2_000_000], always: true },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n4'],
      atUs: [9_000_000, 9_500_000],
      choices: { join: ['anew'] },
      always: true,
    },
    {
      kind: 'removed-node-restart',
      count: [1, 1],
      targets: ['n2'],
      atUs: [14_000_000, 15_000_000],
      choices: { join: ['anew'] },
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 3] },
  ],
  stormMs: 21_000,
  calmMs: 6_000,
  settleMsMax: 40_000,
  settings: { ...onTheMove, phi_threshold_milli: 3_000, transfer_bytes_per_second: 2_097_152 },
  invariants: { ...invariantsOnTheMove, 'ring-agreement': 3 },
};
