/**
 * The contract of faults as data: what each kind of fault may take, alone and with others, and which invariants a run
 * with it can no longer judge. The swarm draws within it, and computes from it what it judges; the page of faults
 * (`sim/docs/faults.md`) explains it. An excuse states a promise that Lockstep does not make, or evidence that the run
 * does not have; it never stands for a failure that nobody has understood.
 */
import type { InvariantName } from '../../check/invariants.ts';
import type { FaultKind } from '../../faults/fault-table.ts';
import type { Plan, PlanFault } from '../plan.ts';
import type { FaultDraw, Range } from '../scenario.ts';

/** What a run needs so that a kind can strike. */
export type Demand =
  | 'peers'
  | 'racks'
  | 'transactions'
  | 'branches'
  | 'modules'
  | 'credentials'
  | 'spares'
  | 'anti-entropy'
  | 'spare-copies';

/** Invariants that cannot be judged, each with the reason. */
export type Excuses = Readonly<Partial<Record<InvariantName, string>>>;

/** Of the kinds below, those that take nothing from what a disk holds: the node fails to write, or is late. */
const hindering: readonly FaultKind[] = [
  ...(['read-error', 'write-error', 'sync-error', 'disk-full', 'slow-disk'] as const),
  ...(['cpu-starvation', 'process-pause'] as const),
];

/**
 * Kinds after which a node may not know whether an operation of its disk was done: what it counts of them is a bound,
 * not a number.
 */
const hiding: readonly FaultKind[] = [
  ...hindering,
  ...(['bit-rot', 'misdirected-io', 'lying-sync', 'crash-loop'] as const),
  ...(['disk-rollback', 'foreign-disk', 'log-truncation', 'file-loss', 'disk-wipe'] as const),
];

/**
 * Nodes that a fault may keep from writing in time what they mean to write; undefined if a fault may also take what a
 * disk holds.
 */
export function hinderedNodes(
  faults: readonly Pick<PlanFault, 'kind' | 'targets'>[],
): ReadonlySet<string> | undefined {
  if (faults.some(({ kind }) => hiding.includes(kind) && !hindering.includes(kind))) return undefined;
  return new Set(faults.flatMap(({ kind, targets }) => (hindering.includes(kind) ? targets : [])));
}

/** Kinds that keep no node from answering a read. */
const harmlessToReads: readonly FaultKind[] = [
  ...(['clock-skew', 'clock-jump', 'clock-strobe', 'clock-freeze', 'heuristic-decision'] as const),
];

/** Kinds that keep no other node than their targets from answering reads (of those that aim at a side: a minority). */
const hinderingReads: readonly FaultKind[] = [
  ...hindering,
  ...(['process-crash', 'graceful-restart', 'power-loss', 'torn-write', 'crash-loop'] as const),
  ...(['network-delay', 'connection-reset', 'half-open-connection'] as const),
  ...(['network-partition', 'one-way-partition'] as const),
];

/**
 * Nodes of `nodes` that a fault of the plan may keep from answering reads in time, at any moment of the run. Undefined if
 * a fault may hinder others than its targets.
 */
export function hinderedInReads(
  { faults, paces = [] }: Pick<Plan, 'faults' | 'paces'>,
  nodes: readonly string[],
): ReadonlySet<string> | undefined {
  const struck = faults.filter(({ kind }) => !harmlessToReads.includes(kind));
  if (paces.length > 0 || struck.some(({ kind }) => !hinderingReads.includes(kind))) return undefined;
  return new Set(struck.flatMap(({ targets }) => targets.filter((name) => nodes.includes(name))));
}

/** Whether the faults leave a client's connection alone as long as its node's incarnation lasts, and let it be answered. */
export function sparesConnections(faults: readonly Pick<PlanFault, 'kind'>[]): boolean {
  const sparing: readonly FaultKind[] = [
    'credential-change',
    'unauthorized-request',
    'process-crash',
    'power-loss',
  ];
  return faults.every(({ kind }) => sparing.includes(kind));
}

/** Whether one of the kinds may hide from a node how operations of its disk ended. */
export function hidesAnswers(kinds: readonly FaultKind[]): boolean {
  return kinds.some((kind) => hiding.includes(kind));
}

/** The terms of one kind. */
export type FaultTerms = (DrawnTerms | LeftTerms) & {
  /** What an invariant does not compare in a run with the kind, each with the reason; all else is judged. */
  readonly exceptions?: Excuses;
};

/** The terms of a kind that the swarm draws. */
type DrawnTerms = {
  readonly drawn: true;
  readonly count: Range;
  /** For kinds that last, in microseconds. */
  readonly forUs?: Range;
  /** Narrower ranges than the kind's own. */
  readonly params?: NonNullable<FaultDraw['params']>;
  readonly choices?: NonNullable<FaultDraw['choices']>;
  readonly group?: FaultDraw['group'];
  readonly demands?: readonly Demand[];
  /** It may lose copies: all such kinds of one run strike one and the same node, so that the others still overlap. */
  readonly losesCopies?: true;
  readonly excuses?: Excuses;
};

/** The terms of a kind that the swarm leaves to scenarios of its own. */
type LeftTerms = {
  readonly drawn: false;
  /** Why it does so. */
  readonly reason: string;
};

const brief: Range = [50_000, 1_500_000];
const long: Range = [50_000, 4_000_000];

const lossOfCopies: Excuses = {
  'hint-delivery': 'a node forgets with its disk what it had acknowledged, and the hint for it is gone',
  'snapshot-rejection': 'the snapshots of the hash tree on such a disk may be damaged, too',
  'standby-routing': 'a node forgets with its disk that an operator had put it in STANDBY',
  'no-dangling-transactions':
    'a coordinator that lost its records cannot say which branches are over, or lists them as lost: an operator ends them',
};

/** An operator must help a node whose manifest is lost, or lied about. */
const allButManifest = { role: ['log', 'hint', 'identity', 'members', 'snapshot'] } as const;

const oldImage = 'a disk that goes back silently takes back what the node has told of transactions';

/** A backup is made of what the disks hold. */
const holedBackups: Excuses = {
  'backup-consistency': 'what a disk has lost, it gives to no backup',
};

/** Nobody can see that such a disk has lost the newest records. */
const silentLoss: Excuses = {
  ...holedBackups,
  atomicity: oldImage,
  'outcome-stability': oldImage,
  'strict-serializability': oldImage,
  'exactly-once': oldImage,
};

const damagedCopies: Excuses = {
  ...lossOfCopies,
  causality:
    'a copy that its node has reported as unreadable is lost: an older version of another replica may take its place',
};

const mixed = 'keys of a transaction whose branch the operator decided otherwise than its coordinator';

const decidedEarly = 'keys of a transaction of which an operator decided a branch before its coordinator did';

/** Two outcomes of one transaction: its keys promise nothing more. Every other key does. */
const mixedOutcome: Excuses = {
  atomicity: mixed,
  'exactly-once': mixed,
  'strict-serializability': decidedEarly,
  'session-guarantees': mixed,
  'durable-before-ack': mixed,
  'backup-consistency': decidedEarly,
};

/** The terms of kinds that lose copies of one node. */
const lossOfDisk = {
  drawn: true,
  losesCopies: true,
  demands: ['spare-copies'],
  exceptions: lossOfCopies,
  excuses: holedBackups,
} as const;

/** The terms of every kind. */
export const faultContract: Readonly<Record<FaultKind, FaultTerms>> = {
  'network-delay': { drawn: true, count: [1, 4], forUs: brief, demands: ['peers'] },
  'message-loss': { drawn: true, count: [1, 2], forUs: brief, demands: ['peers'] },
  'message-duplication': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  'message-replay': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  'message-reordering': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  'network-clog': { drawn: true, count: [1, 2], forUs: brief, demands: ['peers'] },
  'swizzle-clog': { drawn: true, count: [1, 1], forUs: brief, demands: ['peers'] },
  'network-partition': { drawn: true, count: [1, 3], forUs: long, demands: ['peers'] },
  'one-way-partition': { drawn: true, count: [1, 3], forUs: long, demands: ['peers'] },
  'message-filter': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  'connection-reset': { drawn: true, count: [1, 6], demands: ['peers'] },
  'half-open-connection': { drawn: true, count: [1, 4], demands: ['peers'] },
  'stream-fragmentation': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  'wrong-identity': { drawn: true, count: [1, 1], forUs: brief, demands: ['peers'] },
  'process-crash': { drawn: true, count: [1, 4], forUs: long },
  'process-pause': { drawn: true, count: [1, 3], forUs: brief },
  'cpu-starvation': { drawn: true, count: [1, 2], forUs: brief },
  'graceful-restart': { drawn: true, count: [1, 3], forUs: brief },
  'build-change': { drawn: true, count: [1, 3], forUs: brief, demands: ['peers'] },
  upgrade: { drawn: true, count: [1, 2], demands: ['peers'] },
  'credential-change': { drawn: true, count: [2, 5], forUs: brief, demands: ['credentials'] },
  'backup-abandoned': { drawn: true, count: [1, 3], params: { leaseMs: [20, 1_500] } },
  'heuristic-decision': {
    drawn: true,
    count: [30, 50],
    demands: ['peers', 'branches'],
    exceptions: mixedOutcome,
  },
  'double-start': { drawn: true, count: [1, 2] },
  'wire-version-skew': { drawn: true, count: [1, 1], forUs: brief, demands: ['peers'] },
  'permanent-node-loss': {
    drawn: false,
    reason:
      'the copies of its rack are gone for good: coordinator-never-returns judges what is still promised',
  },
  'membership-change': {
    drawn: true,
    count: [1, 2],
    demands: ['spares'],
  },
  'seeds-down': { drawn: true, count: [1, 1], forUs: brief, demands: ['peers'] },
  'failure-domain-outage': { drawn: true, count: [1, 2], forUs: brief, group: 'rack', demands: ['racks'] },
  'node-flapping': {
    drawn: true,
    count: [1, 1],
    forUs: long,
    params: { awayMs: [50, 2_000], hereMs: [20, 1_000] },
    demands: ['peers'],
  },
  'removed-node-restart': {
    drawn: false,
    reason: 'it needs a node that has left, at a known moment: four scenarios place it',
  },
  'node-standby': { drawn: true, count: [1, 2], forUs: brief, demands: ['peers'] },
  'clock-skew': { drawn: true, count: [1, 3] },
  'clock-jump': { drawn: true, count: [1, 3] },
  'clock-strobe': { drawn: true, count: [1, 2], forUs: brief },
  'clock-freeze': { drawn: true, count: [1, 2], forUs: brief },
  'timer-jitter': { drawn: true, count: [1, 3], forUs: brief },
  'power-loss': { drawn: true, count: [1, 4], forUs: brief },
  'torn-write': { drawn: true, count: [1, 3], forUs: brief },
  'crash-loop': {
    drawn: true,
    count: [1, 2],
    forUs: [5_000, 200_000],
    params: { stepMax: [1, 120] },
  },
  'read-error': { drawn: true, count: [1, 2], forUs: brief },
  'write-error': { drawn: true, count: [1, 2], forUs: brief },
  'disk-full': { drawn: true, count: [1, 2], forUs: brief, params: { roomBytes: [0, 20_000] } },
  'sync-error': { drawn: true, count: [1, 2], forUs: brief },
  'slow-disk': {
    drawn: true,
    count: [1, 2],
    forUs: brief,
    params: { meanUs: [1_000, 100_000], tailUs: [0, 1_000_000] },
  },
  'lying-sync': { ...lossOfDisk, count: [1, 2], forUs: brief, choices: allButManifest, excuses: silentLoss },
  'bit-rot': { ...lossOfDisk, count: [1, 12], choices: allButManifest, exceptions: damagedCopies },
  'misdirected-io': {
    ...lossOfDisk,
    count: [1, 3],
    forUs: brief,
    choices: allButManifest,
    exceptions: damagedCopies,
  },
  'lost-directory-entries': { drawn: true, count: [1, 2], forUs: brief },
  'disk-wipe': { ...lossOfDisk, count: [1, 2], forUs: brief },
  'disk-rollback': {
    ...lossOfDisk,
    count: [1, 2],
    forUs: brief,
    params: { ageMs: [10, 3_000] },
    excuses: silentLoss,
  },
  'foreign-disk': { ...lossOfDisk, count: [1, 2], forUs: brief },
  'log-truncation': { ...lossOfDisk, count: [1, 1], forUs: brief, excuses: silentLoss },
  'file-loss': { ...lossOfDisk, count: [1, 4], forUs: brief },
  'wasm-trap': { drawn: true, count: [1, 6], demands: ['modules'] },
  'wasm-infinite-loop': { drawn: true, count: [1, 2], demands: ['modules'] },
  'wasm-memory-exhaustion': { drawn: true, count: [1, 2], demands: ['modules'] },
  'wasm-bad-result': { drawn: true, count: [1, 4], demands: ['modules'] },
  'wasm-module-swap': { drawn: true, count: [1, 2], demands: ['modules'] },
  'immediate-retry': {
    drawn: true,
    count: [2, 8],
    params: { afterUs: [0, 8_000] },
    demands: ['transactions'],
  },
  'client-disconnect': { drawn: true, count: [2, 8], params: { afterUs: [0, 8_000] } },
  'hot-key': { drawn: true, count: [1, 1], params: { clients: [4, 8] }, demands: ['transactions'] },
  'slow-reader': { drawn: true, count: [1, 1], forUs: [100_000, 600_000] },
  'unauthorized-request': { drawn: true, count: [4, 12], demands: ['credentials'] },
  'sticky-clients': { drawn: true, count: [1, 2], forUs: brief },
  'late-retry': { drawn: true, count: [2, 8], demands: ['transactions'] },
  'snapshot-bit-rot': { drawn: true, count: [1, 2], forUs: brief, demands: ['anti-entropy'] },
  'snapshot-truncation': { drawn: true, count: [1, 2], forUs: brief, demands: ['anti-entropy'] },
  'snapshot-version-skew': { drawn: true, count: [1, 2], forUs: brief, demands: ['anti-entropy'] },
  'stale-snapshot': { drawn: true, count: [1, 2], forUs: brief, demands: ['anti-entropy'] },
  'foreign-snapshot': { drawn: true, count: [1, 2], forUs: brief, demands: ['anti-entropy', 'peers'] },
  'leaf-corruption': {
    drawn: false,
    reason:
      'a tree altered under a valid checksum reports equal keys, which only no-churn-when-equal expects',
  },
};

/** The targets of the faults whose kinds have an exception from the invariant. */
export function nodesExcepted(
  faults: readonly Pick<PlanFault, 'kind' | 'targets'>[],
  name: InvariantName,
): ReadonlySet<string> {
  const excepted = faults.filter(({ kind }) => faultContract[kind].exceptions?.[name] !== undefined);
  return new Set(excepted.flatMap(({ targets }) => targets));
}

/** What the shape of a run, beside its faults, leaves of the invariants. */
export interface RunShape {
  readonly transactions: boolean;
  readonly redis: boolean;
  readonly jobs: boolean;
  readonly modules: boolean;
  readonly credentials: boolean;
  readonly antiEntropy: boolean;
  readonly backups: boolean;
  readonly kinds: readonly FaultKind[];
}

const noTransactions = 'the run has no transactions';

/** The invariants that a run of this shape cannot judge, each with the first reason found. */
export function excusesOf(shape: RunShape): Excuses {
  const excuses: Partial<Record<InvariantName, string>> = {};
  const excuse = (reason: string, ...names: readonly InvariantName[]): void => {
    for (const name of names) excuses[name] ??= reason;
  };
  if (!shape.transactions) {
    excuse(noTransactions, 'atomicity', 'outcome-stability', 'no-dangling-transactions');
    excuse(noTransactions, 'strict-serializability', 'lock-exclusivity');
    if (!shape.redis) excuse(noTransactions, 'exactly-once');
  }
  if (!shape.jobs && !shape.modules) excuse('the run calls no module', 'wasm-purity');
  if (!shape.credentials) excuse('the nodes demand no credentials', 'access-control');
  if (!shape.antiEntropy) {
    const reason = 'without anti-entropy, only reads and hints repair, and neither reaches every key';
    excuse(reason, 'convergence', 'exchange-soundness', 'repair-soundness');
    excuse(reason, 'stale-snapshot-safety', 'snapshot-rejection');
  }
  if (!shape.backups) excuse('no backup is taken', 'backup-consistency');
  for (const kind of shape.kinds) {
    const terms = faultContract[kind];
    if (terms.drawn) Object.assign(excuses, { ...terms.excuses, ...excuses });
  }
  return excuses;
}
