/**
 * The table of invariants: what Lockstep promises, one row each. Checks, scenarios, plans, reports and the command line
 * take the names from here; sim/docs/invariants.md explains how each is checked.
 */
import type { Named } from './named.ts';

/**
 * What is at stake when an invariant breaks: acknowledged `data` (lost, wrong or torn), `security` (an unauthorized
 * request succeeds), `availability` (requests fail or wait although nothing is wrong), `operations` (operators are
 * misled), or the `testbed` itself (its verdicts are void).
 */
export const gravities = ['data', 'security', 'availability', 'operations', 'testbed'] as const;

/** One row of the table. */
export interface InvariantRow extends Named {
  /** One sentence: what always holds. */
  readonly promise: string;
  readonly gravity: (typeof gravities)[number];
  /** One sentence: what a breach means for the operator of the cluster. */
  readonly breach: string;
}

/** All built-in invariants, in the order of their codes. */
export const invariantTable = [
  {
    name: 'atomicity',
    code: 'INV1',
    promise: 'all branches of a transaction commit, or none',
    gravity: 'data',
    breach: 'a transaction is torn: some of its writes are there and others are not',
  },
  {
    name: 'outcome-stability',
    code: 'INV2',
    promise: 'the outcome that a client hears stays true',
    gravity: 'data',
    breach: 'a client was told committed or aborted, and the opposite is true',
  },
  {
    name: 'no-dangling-transactions',
    code: 'INV3',
    promise: 'after healing no transaction is left in doubt',
    gravity: 'availability',
    breach: 'branches hold their locks, or their records, for ever',
  },
  {
    name: 'durability',
    code: 'INV4',
    promise: 'an acknowledged write is never lost or undone',
    gravity: 'data',
    breach: 'an acknowledged write is lost, or something deleted or replaced is back',
  },
  {
    name: 'durable-before-ack',
    code: 'INV5',
    promise: 'no write is acknowledged before it is synced',
    gravity: 'data',
    breach: 'a power loss may take what was acknowledged',
  },
  {
    name: 'strict-serializability',
    code: 'INV6',
    promise: 'transactions have one order that fits real time',
    gravity: 'data',
    breach: 'two transactions saw states that no order of them explains',
  },
  {
    name: 'lock-exclusivity',
    code: 'INV7',
    promise: "one transaction at a time holds a key's lock",
    gravity: 'data',
    breach: 'two transactions write the same key at once, each on what it read before',
  },
  {
    name: 'exactly-once',
    code: 'INV8',
    promise: 'a write takes effect once, however often sent',
    gravity: 'data',
    breach: 'a retry is carried out a second time, or a definite answer about it is wrong',
  },
  {
    name: 'causality',
    code: 'INV9',
    promise: 'no version replaces one that it has not seen',
    gravity: 'data',
    breach: 'a replica drops a write as known that it never saw',
  },
  {
    name: 'convergence',
    code: 'INV10',
    promise: 'all replicas become equal, byte for byte',
    gravity: 'data',
    breach: 'replicas differ for ever, and reads depend on which of them answer',
  },
  {
    name: 'exchange-soundness',
    code: 'INV11',
    promise: 'anti-entropy reports exactly what differs',
    gravity: 'data',
    breach: 'anti-entropy passes over a difference, or repairs what is equal',
  },
  {
    name: 'repair-soundness',
    code: 'INV12',
    promise: 'repairs lose and resurrect nothing, and end',
    gravity: 'data',
    breach: 'a repair overwrites something newer, brings a deletion back, or never ends',
  },
  {
    name: 'snapshot-rejection',
    code: 'INV13',
    promise: 'a damaged snapshot of a hash tree is refused',
    gravity: 'data',
    breach: 'a node compares its data by a damaged hash tree',
  },
  {
    name: 'stale-snapshot-safety',
    code: 'INV14',
    promise: 'a stale snapshot hides no difference',
    gravity: 'data',
    breach: 'an old snapshot hides differences from anti-entropy',
  },
  {
    name: 'data-integrity',
    code: 'INV15',
    promise: 'corrupt bytes are never served as data',
    gravity: 'data',
    breach: 'corrupt bytes are served as data',
  },
  {
    name: 'input-robustness',
    code: 'INV16',
    promise: 'malformed input or a foreign disk harms no node',
    gravity: 'availability',
    breach: 'a client can end a node, or a node starts on a disk that it must refuse',
  },
  {
    name: 'ring-agreement',
    code: 'INV17',
    promise: 'all nodes name the same owners of every token',
    gravity: 'data',
    breach: 'nodes send writes of one key to different owners',
  },
  {
    name: 'quorum-intersection',
    code: 'INV18',
    promise: 'as many replicas take part as a quorum needs',
    gravity: 'data',
    breach: 'a read and a write that ought to meet share no replica',
  },
  {
    name: 'node-identity',
    code: 'INV19',
    promise: 'a node name is one incarnation at a time',
    gravity: 'data',
    breach: 'two processes act under one name, or a request of a past incarnation is served',
  },
  {
    name: 'session-guarantees',
    code: 'INV20',
    promise: 'clients read their writes and never go back',
    gravity: 'data',
    breach: 'a client sees its own write disappear, or an older value after a newer one',
  },
  {
    name: 'failure-detection',
    code: 'INV21',
    promise: 'live peers are not called down, dead ones are',
    gravity: 'availability',
    breach: 'requests avoid a healthy node, or wait for a dead one',
  },
  {
    name: 'liveness',
    code: 'INV22',
    promise: 'the cluster recovers by itself within a minute',
    gravity: 'availability',
    breach: 'the cluster does not recover by itself from a fault that is over',
  },
  {
    name: 'resource-bounds',
    code: 'INV23',
    promise: 'queues, memory and handles stay within limits',
    gravity: 'availability',
    breach: 'a node grows until it fails, or leaks timers, files or locks',
  },
  {
    name: 'metrics-reconcile',
    code: 'INV24',
    promise: 'every metric equals what really happened',
    gravity: 'operations',
    breach: 'a counter, gauge or histogram tells an operator something untrue',
  },
  {
    name: 'stats-agreement',
    code: 'INV25',
    promise: '/stats and /metrics show the same numbers',
    gravity: 'operations',
    breach: 'two dashboards of one node disagree',
  },
  {
    name: 'valid-exposition',
    code: 'INV26',
    promise: 'scrapes parse, and counters never decrease',
    gravity: 'operations',
    breach: 'a scraper rejects the text, or computes rates from a counter that went back',
  },
  {
    name: 'hint-delivery',
    code: 'INV27',
    promise: 'no hint is dropped before its write arrives',
    gravity: 'data',
    breach: 'a write that was kept for an absent replica never reaches it',
  },
  {
    name: 'wasm-purity',
    code: 'INV28',
    promise: 'modules are pure, and jobs see each input once',
    gravity: 'data',
    breach: 'a call depends on earlier calls, or a job leaves out or repeats inputs',
  },
  {
    name: 'determinism',
    code: 'INV29',
    promise: 'the same plan gives the same run',
    gravity: 'testbed',
    breach: 'a failure may not replay',
  },
  {
    name: 'no-ambient-time',
    code: 'INV31',
    promise: 'nodes use the clocks and chance they are given',
    gravity: 'testbed',
    breach: 'a run depends on the machine that it runs on',
  },
  {
    name: 'no-silent-failures',
    code: 'INV32',
    promise: 'no task of a node fails unseen',
    gravity: 'availability',
    breach: 'a part of a node has stopped and nothing tells of it',
  },
  {
    name: 'access-control',
    code: 'INV33',
    promise: 'nobody does what their role does not allow',
    gravity: 'security',
    breach: 'somebody reads or writes what they may not',
  },
  {
    name: 'timestamp-accuracy',
    code: 'INV34',
    promise: "versions are dated by their coordinator's clock",
    gravity: 'operations',
    breach: 'one wrong clock decides over writes that others make later',
  },
  {
    name: 'standby-routing',
    code: 'INV35',
    promise: 'nodes in STANDBY serve no client, are read last',
    gravity: 'availability',
    breach: 'clients and reads meet a node that an operator took out of their way, or never meet it again',
  },
] as const satisfies readonly InvariantRow[];

/** A built-in invariant, as plans and reports name it. */
export type InvariantName = (typeof invariantTable)[number]['name'];

/** The names of the table, in its order. */
export const invariantNames: readonly InvariantName[] = invariantTable.map(({ name }) => name);
