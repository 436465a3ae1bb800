import type { Scenario } from '../sim/plan/scenario.ts';
import { mendingAlone, mendingInvariants, seldomRead } from './shared.ts';

export const exchangeInterrupted: Scenario = {
  name: 'exchange-interrupted',
  description:
    'resets, partitions, pauses and crashes interrupt exchanges of hash trees: no correct key is reported or repaired',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: seldomRead,
  faults: [
    {
      kind: 'connection-reset',
      count: [3, 6],
      after: { event: 'aae.exchange.started', nth: [1, 9], delayUs: [0, 80_000] },
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 3],
      forUs: [10_000, 500_000],
      after: { event: 'aae.key.diverged', nth: [1, 30], delayUs: [0, 20_000] },
    },
    {
      kind: 'process-pause',
      count: [0, 2],
      forUs: [50_000, 1_500_000],
      after: { event: 'aae.exchange.started', nth: [1, 9], delayUs: [0, 80_000] },
    },
    { kind: 'network-partition', count: [2, 4], forUs: [300_000, 1_500_000], sideMax: 1, always: true },
    { kind: 'network-delay', count: [0, 2], forUs: [100_000, 1_000_000] },
  ],
  stormMs: 9_000,
  calmMs: 4_000,
  settleMsMax: 30_000,
  repairedBy: 'sweeps',
  settings: { ...mendingAlone, aae_throttle: 50 },
  invariants: mendingInvariants,
};
