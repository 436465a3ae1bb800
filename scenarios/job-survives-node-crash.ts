import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants, jobLoad, mending } from './shared.ts';

export const jobSurvivesNodeCrash: Scenario = {
  name: 'job-survives-node-crash',
  description:
    'nodes crash and are partitioned away while jobs run over their keys, and clients abandon theirs: a job that answers covers every input',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  load: everyday,
  jobs: { ...jobLoad, count: [24, 40], thinkUs: [0, 400_000] },
  faults: [
    { kind: 'process-crash', count: [2, 4], forUs: [100_000, 1_500_000], always: true },
    {
      kind: 'power-loss',
      count: [0, 2],
      forUs: [100_000, 1_000_000],
      choices: { keeps: ['nothing', 'some'] },
    },
    { kind: 'network-partition', count: [0, 1], forUs: [200_000, 1_000_000], sideMax: 1 },
    { kind: 'connection-reset', count: [0, 4] },
    {
      kind: 'client-disconnect',
      count: [2, 6],
      targets: ['j0', 'j1', 'j2'],
      params: { afterUs: [0, 6_000] },
    },
    { kind: 'stream-fragmentation', count: [0, 1], forUs: [200_000, 1_500_000], targets: ['j0', 'j1'] },
  ],
  stormMs: 6_000,
  calmMs: 3_000,
  settleMsMax: 30_000,
  settings: mending,
  invariants: { ...invariants, 'wasm-purity': 200 },
};
