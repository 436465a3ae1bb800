import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, quietly, smallStore, transactionSettings, transfers } from './shared.ts';

export const startsOnFailingDisks: Scenario = {
  name: 'starts-on-failing-disks',
  description:
    'nodes lose power and start again while their disks fail to read, to write and to sync: a start gives up or is whole, and nothing acknowledged is lost',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...onDisks,
    operations: [100, 140],
    transactions: { ...transfers, clients: 2, count: [30, 50], thinkUs: [0, 200_000] },
    malformedInput: quietly.malformedInput,
  },
  faults: [
    {
      kind: 'power-loss',
      count: [5, 8],
      atUs: [200_000, 5_000_000],
      forUs: [20_000, 300_000],
      always: true,
    },
    {
      kind: 'read-error',
      count: [3, 6],
      forUs: [300_000, 1_500_000],
      params: { oneIn: [2, 20] },
      choices: { role: ['any', 'objects', 'hints', 'identity', 'members', 'manifest'] },
      always: true,
    },
    // Starts that have read the head of their open segment cannot read on.
    {
      kind: 'read-error',
      count: [3, 5],
      forUs: [1_000_000, 2_500_000],
      params: { oneIn: [1, 2] },
      choices: { role: ['log-records'] },
      always: true,
    },
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      count: [1, 3] as const,
      forUs: [200_000, 1_000_000] as const,
      params: { oneIn: [2, 20] as const },
      choices: { role: ['any', 'objects', 'hints', 'identity', 'members', 'manifest'] },
      always: true,
    })),
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  settings: { ...smallStore, ...transactionSettings },
  invariants: {
    ...invariants,
    durability: 20,
    'durable-before-ack': 5,
    causality: 30,
    convergence: 5,
    'quorum-intersection': 5,
    'session-guarantees': 0,
    'input-robustness': 0,
    atomicity: 4,
    'outcome-stability': 2,
    'exactly-once': 2,
    'strict-serializability': 5,
  },
};
