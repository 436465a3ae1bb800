import type { Scenario } from '../sim/plan/scenario.ts';
import { onTheMove, quietly, transactionInvariants, transactionSettings, transfers } from './shared.ts';

export const powerLossBetweenSteps: Scenario = {
  name: 'power-loss-between-steps',
  description:
    'nodes that join, hand over keys or leave lose power between two steps of the ring change or at the last one: members agree in the end',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  load: {
    ...quietly,
    transactions: { ...transfers, count: [180, 260], thinkUs: [0, 160_000] },
  },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [300_000, 900_000], always: true },
    // n1 has voted, and its disk writes the new ring slowly, when its power fails. It is away for longer than the
    // tolerated silence.
    {
      kind: 'slow-disk',
      count: [1, 1],
      targets: ['n1'],
      atUs: [500_000, 2_000_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [1, 1], delayUs: [0, 500_000] },
      forUs: [1_000_000, 3_000_000],
      params: { meanUs: [80_000, 200_000], tailUs: [0, 100_000] },
      always: true,
    },
    {
      kind: 'power-loss',
      count: [1, 1],
      targets: ['n1'],
      atUs: [1_500_000, 3_000_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [2, 2], delayUs: [0, 250_000] },
      forUs: [2_500_000, 4_500_000],
      always: true,
    },
    // Then it leaves, and loses power between two steps of that, or at the last one.
    {
      kind: 'membership-change',
      count: [1, 1],
      targets: ['n1'],
      atUs: [6_000_000, 7_000_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [3, 3], delayUs: [100_000, 1_000_000] },
      always: true,
    },
    {
      kind: 'slow-disk',
      count: [1, 2],
      atUs: [6_000_000, 8_000_000],
      forUs: [2_000_000, 5_000_000],
      params: { meanUs: [20_000, 100_000], tailUs: [0, 200_000] },
      always: true,
    },
    {
      kind: 'power-loss',
      count: [1, 1],
      targets: ['n1'],
      atUs: [7_000_000, 11_000_000],
      after: { event: 'membership.left', host: 'n1', nth: [1, 1], delayUs: [0, 30_000] },
      forUs: [20_000, 1_000_000],
      always: true,
    },
    {
      kind: 'power-loss',
      count: [0, 1],
      targets: ['n1'],
      atUs: [7_000_000, 10_000_000],
      after: { event: 'membership.move.declared', host: 'n1', nth: [1, 3], delayUs: [0, 150_000] },
      forUs: [20_000, 500_000],
    },
    {
      kind: 'power-loss',
      count: [0, 1],
      targets: ['n4'],
      atUs: [1_000_000, 3_000_000],
      after: { event: 'membership.move.declared', host: 'n4', nth: [1, 3], delayUs: [0, 150_000] },
      forUs: [20_000, 1_000_000],
    },
    { kind: 'power-loss', count: [0, 2], targets: ['n2', 'n3'], forUs: [20_000, 200_000] },
  ],
  stormMs: 12_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  settings: { ...onTheMove, ...transactionSettings },
  invariants: { ...transactionInvariants, 'input-robustness': 0, 'ring-agreement': 4 },
};
