import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

const strike = { targets: ['n3'], count: [1, 1], always: true } as const;

export const oneReplicaSilent: Scenario = {
  name: 'one-replica-silent',
  description:
    'one replica is silent, late, cut off or fails to read again and again, and the others work: they answer every read that asks for a quorum, in time',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    clients: 12,
    // A node asks the same replica for 64 reads in a row.
    operations: [1_000, 1_200],
    keys: 60,
    kinds: { get: 82, put: 16, delete: 2 },
    needs: { level: 90, quorum: 10 },
    thinkUs: [0, 110_000],
    manners: { httpPercent: 50, conditionalPercent: 0 },
  },
  faults: [
    // It starts again, so that it must read from its disk, which fails.
    { ...strike, kind: 'process-crash', atUs: [600_000, 800_000], forUs: [20_000, 60_000] },
    {
      ...strike,
      kind: 'read-error',
      atUs: [1_050_000, 1_150_000],
      forUs: [800_000, 1_000_000],
      params: { oneIn: [1, 2] },
      choices: { role: ['objects'] },
    },
    // It answers nothing, for longer than a request may take.
    { ...strike, kind: 'process-pause', atUs: [2_200_000, 2_400_000], forUs: [1_700_000, 2_000_000] },
    {
      ...strike,
      kind: 'network-partition',
      sideMax: 1,
      atUs: [4_600_000, 4_800_000],
      forUs: [1_700_000, 2_000_000],
    },
    {
      kind: 'slow-disk',
      targets: ['n3'],
      count: [0, 1],
      forUs: [500_000, 1_500_000],
      params: { meanUs: [5_000, 100_000], tailUs: [0, 1_000_000] },
    },
  ],
  stormMs: 7_000,
  calmMs: 2_000,
  settleMsMax: 30_000,
  settings: {
    request_timeout_ms: 300,
    read_repair_percent: 1,
    read_consistency: 'DC_QUORUM',
    write_consistency: 'DC_QUORUM',
  },
  invariants: { ...invariants, 'quorum-intersection': 150, 'session-guarantees': 5 },
};
