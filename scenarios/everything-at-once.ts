import type { Scenario } from '../sim/plan/scenario.ts';
import { invariantsOnTheMove, seldomRead } from './shared.ts';

export const everythingAtOnce: Scenario = {
  name: 'everything-at-once',
  description:
    'a node joins while others are partitioned away, crash and lose snapshots and bits: missing data is found and goes to its new owners',
  cluster: {
    datacenters: 1,
    racks: 3,
    nodesPerRack: 1,
    spares: [{ name: 'n4', datacenter: 'dc1', rack: 'r1' }],
  },
  // One copy may rot: a write can be read back at a quorum only if all replicas acknowledged it.
  load: { ...seldomRead, operations: [240, 320], needs: { all: 50, quorum: 50 } },
  faults: [
    { kind: 'membership-change', count: [1, 1], targets: ['n4'], atUs: [1_000_000, 5_000_000], always: true },
    {
      kind: 'network-partition',
      count: [2, 4],
      forUs: [300_000, 1_500_000],
      sideMax: 1,
      atUs: [0, 6_000_000],
      always: true,
    },
    { kind: 'snapshot-bit-rot', count: [0, 2], forUs: [10_000, 500_000] },
    { kind: 'bit-rot', count: [0, 2], targets: ['n3'], choices: { role: ['log'] } },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'process-pause', count: [0, 2], forUs: [50_000, 1_000_000] },
    { kind: 'power-loss', count: [0, 1], forUs: [50_000, 500_000] },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    {
      kind: 'connection-reset',
      count: [0, 4],
      after: { event: 'aae.exchange.started', nth: [1, 9], delayUs: [0, 80_000] },
    },
  ],
  stormMs: 9_000,
  calmMs: 8_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: {
    hinted_handoff: false,
    aae_tick_interval_seconds: 1,
    aae_segments: 256,
    aae_snapshot_interval_seconds: 2,
    aae_full_sweep_interval_seconds: 3,
    gossip_interval_ms: 100,
    phi_mean_ms_min: 100,
    transfer_batch_bytes: 4_096,
    transfer_bytes_per_second: 131_072,
  },
  invariants: {
    ...invariantsOnTheMove,
    'exchange-soundness': 60,
    'repair-soundness': 80,
    'snapshot-rejection': 0,
    'session-guarantees': 0,
  },
};
