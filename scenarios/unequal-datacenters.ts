import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, mendingAlone, seldomRead } from './shared.ts';

export const unequalDatacenters: Scenario = {
  name: 'unequal-datacenters',
  description:
    'a datacenter has one copy and another has three, one of which misses writes; the lone copy is lost: each datacenter counts its own copies, and the wiped node gets back what a quorum of the other one has acknowledged',
  cluster: { datacenters: 2, racks: [1, 3], nodesPerRack: 1 },
  load: { ...seldomRead, thinkUs: [0, 90_000], needs: { level: 100 } },
  levels: {
    read: { DC_QUORUM: 50, DC_EACH_SAFE_QUORUM: 50 },
    write: { DC_QUORUM: 35, DC_EACH_SAFE_QUORUM: 65 },
  },
  faults: [
    // n2, in the first rack of dc2, misses writes; no exchange repairs it before n1 loses its disk.
    {
      kind: 'process-crash',
      count: [1, 2],
      forUs: [800_000, 1_500_000],
      atUs: [300_000, 1_200_000],
      targets: ['n2'],
      always: true,
    },
    {
      kind: 'disk-wipe',
      count: [1, 1],
      forUs: [50_000, 400_000],
      atUs: [2_600_000, 3_000_000],
      targets: ['n1'],
      always: true,
    },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 800_000] },
  ],
  stormMs: 5_000,
  calmMs: 3_000,
  settleMsMax: 40_000,
  repairedBy: 'sweeps',
  settings: { ...mendingAlone, aae_tick_interval_seconds: 4, read_repair_percent: 0 },
  invariants: { ...invariants, 'session-guarantees': 0, 'transfer-soundness': 20 },
};
