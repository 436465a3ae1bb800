/**
 * What scenarios share: the everyday load of a few clients on a few keys (few, so that writes meet), and the invariants
 * that always hold, with floors that even an unlucky seed reaches.
 */
import { everydayFloors } from '../sim/check/invariants.ts';
import type { JobLoad, LoadShape, Scenario, TransactionLoad } from '../sim/plan/scenario.ts';

/** The load from which most scenarios start. */
export const everyday: LoadShape = {
  clients: 4,
  operations: [160, 240],
  keys: 12,
  siblingKeys: 6,
  thinkUs: [0, 40_000],
  valueBytes: [16, 2_000],
  kinds: { get: 40, put: 54, delete: 6 },
  needs: { quorum: 90, one: 10 },
  malformedInput: [1, 4],
  scrapes: [2, 5],
};

/** Every consistency level, for reads and for writes. */
export const everyLevel: NonNullable<Scenario['levels']> = {
  read: { DC_ONE: 15, DC_QUORUM: 25, DC_SAFE_QUORUM: 35, DC_EACH_SAFE_QUORUM: 25 },
  write: { DC_ONE: 15, DC_QUORUM: 35, DC_SAFE_QUORUM: 20, DC_EACH_SAFE_QUORUM: 30 },
};

/**
 * The everyday load at the nodes' levels, by words and by numbers: `r`, `w`, `rw`, `pr`, `pw`, `dw` of at most 3
 * copies.
 */
export const atEveryLevel: LoadShape = {
  ...everyday,
  needs: { level: 55, quorum: 35, one: 5, all: 5 },
  numbered: { percent: 20, copiesMax: 3 },
};

/** MapReduce jobs over keys that other clients write meanwhile. */
export const jobLoad: JobLoad = {
  clients: 3,
  count: [10, 18],
  thinkUs: [0, 800_000],
  kinds: { objects: 60, count: 15, whole: 25 },
  keysMax: 12,
};

/** The invariants that hold in every scenario, with the floors of their rows. */
export const invariants: Scenario['invariants'] = everydayFloors();

/**
 * One replica after the other is cut off for a while and misses writes, in a cluster so small that a run compares less
 * than an everyday one.
 */
export const cutOffInTurn: Pick<Scenario, 'faults' | 'stormMs' | 'calmMs' | 'settleMsMax' | 'invariants'> = {
  faults: [
    { kind: 'network-partition', count: [2, 5], forUs: [300_000, 1_200_000], sideMax: 1, always: true },
    { kind: 'process-crash', count: [0, 2], forUs: [100_000, 800_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  stormMs: 4_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  invariants: {
    ...invariants,
    durability: 5,
    'durable-before-ack': 2,
    causality: 20,
    convergence: 5,
    'quorum-intersection': 10,
    'session-guarantees': 0,
    liveness: 3,
    'no-ambient-time': 2,
    'no-silent-failures': 2,
  },
};

/** For scenarios in which members join or leave. */
export const invariantsOnTheMove: Scenario['invariants'] = {
  durability: 30,
  // The stories in which many keys move have a floor of their own.
  'transfer-soundness': 0,
  'durable-before-ack': 10,
  causality: 150,
  convergence: 60,
  'input-robustness': 3,
  'quorum-intersection': 25,
  'node-identity': 300,
  'session-guarantees': 2,
  'failure-detection': 12,
  liveness: 10,
  'resource-bounds': 3,
  'metrics-reconcile': 2_000,
  'stats-agreement': 3,
  'valid-exposition': 10,
  determinism: 1,
  'no-ambient-time': 3,
  'no-silent-failures': 4,
};

/**
 * Writes over a longer time to more keys, for scenarios with ring changes: many keys are written while a replica is cut
 * off, and not again before they change owners.
 */
export const slowly: LoadShape = {
  ...everyday,
  operations: [240, 360],
  keys: 60,
  siblingKeys: 20,
  thinkUs: [20_000, 120_000],
  kinds: { get: 15, put: 80, delete: 5 },
};

/**
 * Settings for ring changes within seconds: heartbeats are frequent, silence is judged soon, batches are small. Only
 * the change itself brings a replica what it missed.
 */
export const onTheMove: NonNullable<Scenario['settings']> = {
  hinted_handoff: false,
  aae_enabled: false,
  read_repair_percent: 100,
  gossip_interval_ms: 100,
  phi_mean_ms_min: 100,
  transfer_batch_bytes: 4_096,
  transfer_bytes_per_second: 131_072,
  transfer_drop_delay_seconds: 1,
};

/**
 * Settings with which replicas become equal within seconds: hints are retried often, hash trees are small and compared
 * often.
 */
export const mending: NonNullable<Scenario['settings']> = {
  hint_drain_interval_ms: 500,
  aae_tick_interval_seconds: 1,
  aae_segments: 256,
};

/** Fewer operations with larger values, for scenarios about disks: logs rotate and merge, and a run stays short. */
export const onDisks: LoadShape = {
  ...everyday,
  operations: [90, 140],
  thinkUs: [0, 90_000],
  valueBytes: [16, 6_000],
  kinds: { get: 30, put: 64, delete: 6 },
};

/** Small segments of the log, and replicas that repair themselves. */
export const smallStore: NonNullable<Scenario['settings']> = {
  store_segment_bytes_max: 65_536,
  ...mending,
};

/** Anti-entropy does not learn that a disk lost data silently, so replicas need not become equal by themselves. */
export const invariantsOfLoss: Scenario['invariants'] = {
  durability: 60,
  'durable-before-ack': 10,
  'input-robustness': 3,
  'resource-bounds': 100,
  'metrics-reconcile': 2_000,
  'stats-agreement': 3,
  'valid-exposition': 10,
  determinism: 1,
  'no-ambient-time': 3,
  'no-silent-failures': 4,
};

/** A few single-key operations beside transactions. */
export const quietly: LoadShape = {
  ...everyday,
  clients: 2,
  operations: [30, 60],
  malformedInput: [0, 2],
  scrapes: [3, 5],
};

/** For scenarios of `quietly` without transactions. */
export const quietInvariants: Scenario['invariants'] = {
  ...invariants,
  durability: 10,
  'durable-before-ack': 5,
  causality: 10,
  convergence: 5,
  'quorum-intersection': 5,
  'session-guarantees': 0,
  liveness: 3,
  'input-robustness': 0,
};

/** Transactions of every kind on few keys, so that they meet. */
export const transfers: TransactionLoad = {
  clients: 4,
  count: [60, 120],
  thinkUs: [0, 60_000],
  kinds: { transfer: 25, append: 25, twin: 15, stamp: 12, erase: 3, put: 15, look: 20 },
  structures: { accounts: 5, lists: 5, twins: 3, triples: 2 },
  placesMax: 4,
  forcedPercent: 5,
  namedPercent: 40,
  onePercent: 15,
};

/** More clients with hardly a pause, on a handful of keys. */
export const hotly: TransactionLoad = {
  ...transfers,
  clients: 8,
  count: [120, 200],
  thinkUs: [0, 20_000],
  kinds: { transfer: 35, append: 35, twin: 15, stamp: 15, put: 10 },
  structures: { accounts: 3, lists: 4, twins: 1, triples: 1 },
};

/** Branches inquire soon, and clients have an answer before they give up. */
export const transactionSettings: NonNullable<Scenario['settings']> = {
  request_timeout_ms: 1_000,
  transaction_inquiry_ms: 250,
  transaction_read_wait_ms: 500,
};

/** The invariants of scenarios with transactions. */
export const transactionInvariants: Scenario['invariants'] = {
  atomicity: 10,
  'outcome-stability': 5,
  'no-dangling-transactions': 3,
  'durable-before-ack': 10,
  'strict-serializability': 20,
  'lock-exclusivity': 10,
  'exactly-once': 10,
  liveness: 20,
  'resource-bounds': 3,
  'metrics-reconcile': 2_000,
  'stats-agreement': 1,
  'valid-exposition': 10,
  determinism: 1,
  'no-silent-failures': 4,
};

/** Writes to many keys, few reads: what a replica misses stays missed until anti-entropy finds it. */
export const seldomRead: LoadShape = {
  ...everyday,
  keys: 40,
  siblingKeys: 16,
  thinkUs: [20_000, 280_000],
  valueBytes: [16, 600],
  kinds: { get: 8, put: 84, delete: 8 },
};

/** Without hints: only anti-entropy repairs, every second; trees are small and saved often. */
export const mendingAlone: NonNullable<Scenario['settings']> = {
  hinted_handoff: false,
  aae_tick_interval_seconds: 1,
  aae_segments: 256,
  aae_snapshot_interval_seconds: 2,
};

/** What anti-entropy promises, in addition to what always holds. */
export const mendingInvariants: Scenario['invariants'] = {
  ...invariants,
  'exchange-soundness': 20,
  'repair-soundness': 60,
  'snapshot-rejection': 0,
  // There are few reads.
  'session-guarantees': 0,
};
