import type { Scenario } from '../sim/plan/scenario.ts';
import {
  atEveryLevel,
  everyLevel,
  invariants,
  smallStore,
  transactionInvariants,
  transactionSettings,
  transfers,
} from './shared.ts';

/**
 * Without power losses: what was written survives the end of a process, synced or not. What a node must still do is
 * sync within the interval, which `durable-before-ack` asks.
 */
export const syncedAtIntervals: Scenario = {
  name: 'synced-at-intervals',
  description:
    'nodes that acknowledge before they sync crash and are cut off: nothing acknowledged is lost, and all of it is durable soon',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...atEveryLevel,
    valueBytes: [16, 6_000],
    transactions: { ...transfers, count: [30, 60] },
  },
  levels: everyLevel,
  faults: [
    { kind: 'process-crash', count: [1, 4], forUs: [50_000, 1_000_000], always: true },
    { kind: 'network-partition', count: [0, 2], forUs: [200_000, 1_500_000], sideMax: 1 },
    { kind: 'network-delay', count: [0, 3], forUs: [100_000, 1_000_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 1_500,
  settleMsMax: 30_000,
  settings: { ...smallStore, ...transactionSettings, sync: 20 },
  // Where faults hinder most of the nodes, few reads are left to judge.
  invariants: { ...transactionInvariants, ...invariants, 'quorum-intersection': 15, 'session-guarantees': 4 },
};
