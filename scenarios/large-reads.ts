import type { Scenario } from '../sim/plan/scenario.ts';
import { everyday, invariants } from './shared.ts';

export const largeReads: Scenario = {
  name: 'large-reads',
  description:
    'clients read large values at once while nodes are partitioned away, crash or fail reads: the budget admits few at a time, and all are served',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 2 },
  // All values have one length, so that lengths do not distinguish them; deletions are small.
  load: {
    ...everyday,
    clients: 24,
    operations: [120, 160],
    keys: 6,
    siblingKeys: 2,
    thinkUs: [0, 100_000],
    valueBytes: [200_000, 200_000],
    kinds: { get: 62, put: 32, delete: 6 },
    needs: { quorum: 80, one: 10, all: 10 },
  },
  faults: [
    { kind: 'network-partition', count: [1, 2], forUs: [100_000, 900_000], sideMax: 2, always: true },
    { kind: 'network-clog', count: [0, 2], forUs: [100_000, 900_000], sideMax: 1 },
    {
      kind: 'message-filter',
      count: [1, 3],
      forUs: [100_000, 800_000],
      choices: { message: ['reads', 'writes', 'answers'] },
      always: true,
    },
    { kind: 'connection-reset', count: [0, 8] },
    { kind: 'network-delay', count: [1, 3], forUs: [100_000, 900_000] },
    {
      kind: 'slow-disk',
      count: [1, 2],
      forUs: [300_000, 1_200_000],
      params: { meanUs: [5_000, 60_000], tailUs: [0, 1_000_000] },
      always: true,
    },
    { kind: 'read-error', count: [0, 2], forUs: [100_000, 900_000] },
    { kind: 'process-crash', count: [0, 2], forUs: [50_000, 600_000] },
    { kind: 'graceful-restart', count: [0, 1], forUs: [50_000, 600_000] },
  ],
  stormMs: 2_500,
  calmMs: 2_500,
  settleMsMax: 30_000,
  // Only reads bring a replica what it missed.
  settings: {
    hinted_handoff: false,
    aae_enabled: false,
    read_repair_percent: 100,
    client_read_bytes_max: 1_048_576,
    request_timeout_ms: 2_000,
  },
  // There are two dozen clients with a handful of operations each: in some seeds hardly any reads what it has written.
  invariants: {
    ...invariants,
    'durable-before-ack': 4,
    causality: 60,
    convergence: 10,
    'session-guarantees': 1,
    'hint-delivery': 0,
  },
};
