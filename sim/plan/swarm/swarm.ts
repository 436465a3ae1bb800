/**
 * Draws whole scenarios: topology, configuration, loads and faults of every kind within the contract of faults
 * (`fault-contract.ts`). Each seed of the scenario `swarm` is one of them, so that combinations occur that no story
 * tells. What a combination makes unjudgeable is computed from the contract.
 */
import fc from 'fast-check';

import { present } from '../../../engine/base/assert.ts';
import type { ConfigField } from '../../../engine/config/keys.ts';
import { configKeys } from '../../../engine/config/keys.ts';
import { keyOf } from '../../../engine/config/config-key.ts';
import { consistencyLevels } from '../../../engine/replication/requests.ts';
import type { InvariantName } from '../../check/invariants.ts';
import { invariantTable } from '../../check/invariants.ts';
import type { FaultKind } from '../../faults/fault-table.ts';
import { faultKindNames, faultKinds } from '../../faults/fault-table.ts';
import { integerIn } from '../arbitraries.ts';
import type {
  ClusterShape,
  FaultDraw,
  JobLoad,
  LoadShape,
  Range,
  RedisLoad,
  Scenario,
  TransactionLoad,
} from '../scenario.ts';
import type { Demand, FaultTerms } from './fault-contract.ts';
import { nodesOf, racksOf } from '../plan-generation.ts';
import { excusesOf, faultContract } from './fault-contract.ts';
import type { ContextDraw } from './swarm-contexts.ts';
import { contexts, loadFor } from './swarm-contexts.ts';
import { briefRequests } from '../brief-requests.ts';
import { bucketNeedsFrom } from './swarm-needs.ts';
import { jobLoads, objectLoads, redisLoads, transactionLoads } from './swarm-loads.ts';

/** Settings with which replicas become equal within seconds; a drawn value takes the place of one of these. */
const baseline = {
  request_timeout_ms: 1_000,
  gossip_interval_ms: 200,
  phi_mean_ms_min: 200,
  hint_drain_interval_ms: 500,
  aae_tick_interval_seconds: 1,
  aae_segments: 256,
  aae_snapshot_interval_seconds: 2,
  transaction_inquiry_ms: 250,
  transaction_read_wait_ms: 500,
  transfer_batch_bytes: 4_096,
  transfer_bytes_per_second: 131_072,
  transfer_drop_delay_seconds: 1,
} as const;

/** Where disks lose records, only a sweep finds unread rot, and a leave waits in vain for a lost transaction. */
const losingRecords: Settings = { aae_full_sweep_interval_seconds: 3, leave_patience_seconds: 20 };

/**
 * Settings of half of the runs: the limits that a run's few seconds reach. With a server's own limits no file of the
 * store is ever full, so none is sealed, merged or removed, and nothing grows old.
 */
const soonReached = {
  store_segment_bytes_max: 16_384,
  tombstone_grace_seconds: 1,
  hint_age_seconds_max: 2,
  aae_full_sweep_interval_seconds: 3,
  aae_snapshot_interval_seconds: 1,
  // Pages of so few items, and of so few bytes, are full: the second one is reached.
  peer_page_items: 3,
  peer_page_bytes: 64,
  // Ranges of a few kilobytes take several batches: what the second one begins with is reached.
  transfer_batch_bytes: 1_024,
} as const;

/** Chance in a hundred that a key with a trial is drawn at all. */
const drawnPercent = 15;

/** The keys of `levelPercent`. */
const levelFields: readonly ConfigField[] = ['readConsistency', 'writeConsistency'];

/** Chance in a hundred that a node's disk may lose copies. */
const lossPercent = 25;

/** Chance in a hundred that a member dies for good and is replaced, where the others hold enough copies. */
const replacedPercent = 25;

/** Chance in a hundred that the ring changes where there are spares; a kind is else drawn in one run of twenty. */
const movePercent = 35;

/** Chance in a hundred that the level of reads, or of writes, is drawn: it concerns every operation. */
const levelPercent = 45;

/** Chance in a hundred that tokens of nodes are exactly tokens of keys. */
const edgePercent = 25;

/** Chance in a hundred that contexts of siblings have few entries at most; in half of these runs they are pruned. */
const contextsPercent = 40;

/** Settings of a run whose nodes trace requests. No span leaves the world: the host keeps and judges it. */
const tracing = { otel_endpoint: 'http://collector:4318/v1/traces' } as const;

/** Shares of the requests that are traced, by turns; reads that are traced are not batched. */
const sampleRatios: readonly (number | undefined)[] = [...Array<undefined>(6), 1, 0.2];

/** Most members of a cluster. */
const membersMax = 9;

/** Most kinds of faults in one run; with more of them, hardly an operation succeeds. */
const kindsMax = 7;

/** Events of the engine and of the world near which a fault may strike. */
const events = [
  'xa.p.locks.taken',
  'xa.p.prepareRec.written',
  'xa.p.vote.sent',
  'xa.p.decision.recv',
  'xa.p.applied',
  'xa.c.prepare.sent',
  'xa.c.vote.recv',
  'xa.c.decision.written',
  'xa.c.decision.synced',
  'xa.c.commit.sent',
  'xa.c.ack.recv',
  'xa.c.tombstone.written',
  'xa.p.apply.partial',
  'xa.p.ack.sent',
  'xa.p.recovery.scan',
  'xa.c.begin',
  'xa.c.decision.beforeLog',
  'xa.p.prepareRec.synced',
  'xa.p.applied.synced',
  'xa.p.locks.released',
  'xa.c.forget',
  'aae.exchange.started',
  'aae.key.diverged',
  'aae.snapshot.saved',
  'aae.sweep.began',
  'membership.move.declared',
  'membership.ring.changed',
  'transfer.rebuild.began',
  'transfer.done',
  'props.changed',
  'dispatch.tombstone.reaped',
  'store.segment.rotated',
  'store.segments.merged',
  'disk.name.renamed',
  'disk.file.synced',
  // The target is recovering, or has just died.
  'host.booted',
  'host.crashed',
] as const;

/** The steps right behind a transaction's commit: the client may know the outcome, and not every node does. */
const commitEvents = [
  'xa.c.decision.synced',
  'xa.c.commit.sent',
  'xa.p.decision.recv',
  'xa.p.applied',
  'xa.p.applied.synced',
  'xa.p.locks.released',
  'xa.c.ack.recv',
] as const;

/** Chance in a hundred that the faults of a kind that strike near an event strike behind a commit. */
const commitPercent = 25;

/** Chance in a hundred that the errors of a disk strike the writes with which a branch applies its transaction. */
const applyPercent = 40;

/** A replica learns the decision, and writes next. */
const beforeApply = 'xa.p.decision.recv';

/** Every write, sync or byte of the log from the event on: one in so many would mostly spare the one that is meant. */
const certainErrors: Readonly<
  Partial<Record<FaultKind, Pick<FaultDraw, 'params' | 'choices'> & { readonly forUs: Range }>>
> = {
  'write-error': { forUs: [5_000, 300_000], params: { oneIn: [1, 1] }, choices: { role: ['any', 'log'] } },
  'sync-error': { forUs: [5_000, 300_000], params: { oneIn: [1, 1] }, choices: { role: ['any', 'log'] } },
  'disk-full': { forUs: [50_000, 1_000_000], params: { roomBytes: [0, 64] } },
};

/** Chance in a hundred that a cluster of several datacenters has levels other than the engine's own. */
const levelsPercent = 40;

/** An operator finds a branch in doubt once its coordinator is cut off, or gone, behind the vote. */
const inDoubt: readonly FaultDraw[] = [
  {
    kind: 'network-partition',
    count: [1, 3],
    forUs: [400_000, 1_500_000],
    sideMax: 1,
    after: { event: 'xa.p.vote.sent', nth: [1, 40], delayUs: [0, 1_500] },
    always: true,
  },
  {
    kind: 'process-crash',
    count: [0, 2],
    forUs: [400_000, 1_500_000],
    after: { event: 'xa.c.vote.recv', nth: [1, 40], delayUs: [0, 400] },
    always: true,
  },
];

type Settings = Readonly<Record<string, number | string | boolean>>;

interface Frame {
  readonly cluster: ClusterShape;
  readonly settings: Settings;
  /** The consistency levels of a cluster of several datacenters; undefined: those of `settings`. */
  readonly levels: Settings | undefined;
  readonly transactions: TransactionLoad | undefined;
  readonly redis: RedisLoad | undefined;
  readonly jobs: JobLoad | undefined;
  readonly objects: LoadShape;
  readonly credentials: boolean;
  readonly sweeps: boolean;
  readonly bucketChanges: Range;
  /** The limits are `soonReached`. */
  readonly small: boolean;
  readonly stormMs: number;
  /** The one member that may lose copies, by its place among them; what buckets need comes from its higher digits. */
  readonly loser: number;
  /** Its disk may lose some. */
  readonly losing: boolean;
  /** It dies for good, and a spare takes its place. */
  readonly replaced: boolean;
  /** A ring change is among the faults, where there are spares. */
  readonly moves: boolean;
  /** How many backups an operator takes. */
  readonly backups: number;
  /** Keys lie exactly on the edges of ranges. */
  readonly edges: boolean;
  /** The limits of the causal contexts of siblings; undefined: the engine's own, which no run reaches. */
  readonly contexts: ContextDraw | undefined;
}

/** All scenarios that a seed of `swarm` may be; they keep the name and the description of `base`. */
export function swarmOf(base: Pick<Scenario, 'name' | 'description'>): fc.Arbitrary<Scenario> {
  return frames().chain((frame) => faultsIn(frame).map((faults) => assemble(base, frame, faults)));
}

function frames(): fc.Arbitrary<Frame> {
  const drawn = fc.record({
    cluster: clusters(),
    settings: settings(),
    levels: maybe(levelsPercent, levels()),
    transactions: maybe(65, transactionLoads()),
    redis: maybe(40, redisLoads()),
    jobs: maybe(25, jobLoads()),
    objects: objectLoads(),
    credentials: chance(15),
    sweeps: chance(50),
    small: chance(50),
    bucketChanges: fc.constantFrom<Range>([0, 4], [6, 16]),
    stormMs: integerIn([2_000, 6_000]),
    loser: fc.nat(),
    losing: chance(lossPercent),
    replaced: chance(replacedPercent),
    moves: chance(movePercent),
    backups: fc.constantFrom(0, 0, 0, 0, 1, 2),
    edges: chance(edgePercent),
    contexts: maybe(contextsPercent, contexts()),
  });
  return drawn.map((frame) =>
    frame.replaced && spareCopies(frame) ? withReplacement(frame) : { ...frame, replaced: false },
  );
}

/**
 * The frame with a spare that takes the place of the member that may lose copies. Where transactions run, it is the one
 * ring change: a join or a leave in its last step waits for transactions whose coordinator has died, and the replacement
 * of that one for the join, until an operator decides them (engine/docs/members.md).
 */
function withReplacement(frame: Frame): Frame {
  const { cluster } = frame;
  const [first = { name: `n${membersOf(cluster) + 1}` }, ...others] = cluster.spares ?? [];
  const {
    name: replaces,
    datacenter,
    rack,
  } = present(nodesOf({ ...cluster, spares: [] })[loserOf(frame)], 'the member that is replaced');
  const spares = [{ name: first.name, datacenter, rack, replaces }, ...(hasBranches(frame) ? [] : others)];
  return { ...frame, cluster: { ...cluster, spares }, moves: true };
}

function assemble(
  base: Pick<Scenario, 'name' | 'description'>,
  frame: Frame,
  faults: readonly FaultDraw[],
): Scenario {
  const { cluster, transactions, redis, jobs, stormMs } = frame;
  const losesRecords = faults.some(({ kind }) => losesCopies(kind));
  const drawn = { ...settingsOf(frame), ...(losesRecords ? losingRecords : {}) };
  const antiEntropy = drawn['aae_enabled'] !== false;
  const losing = frame.replaced || losesRecords;
  const excuses = excusesOf({
    transactions: transactions !== undefined,
    redis: redis !== undefined,
    jobs: jobs !== undefined,
    modules: drawn['features_wasm'] === true,
    credentials: frame.credentials,
    antiEntropy,
    backups: frame.backups > 0,
    kinds: faults.map(({ kind }) => kind),
  });
  const judged = invariantTable.map(({ name }) => name).filter((name) => excuses[name] === undefined);
  return {
    ...base,
    cluster,
    load: {
      ...loadFor(frame.contexts, frame.objects),
      ...(transactions === undefined ? {} : { transactions: losing ? kept(transactions) : transactions }),
    },
    ...(redis === undefined ? {} : { redis }),
    ...(jobs === undefined ? {} : { jobs }),
    bucketChanges: frame.bucketChanges,
    typeChanges: frame.bucketChanges,
    ...(frame.backups === 0 ? {} : { backups: [frame.backups, frame.backups] }),
    faults,
    stormMs,
    calmMs: 3_000,
    // A replacement begins once the members call the dead node DOWN: with rare heartbeats, that takes longest of all.
    settleMsMax: frame.replaced ? 120_000 : 40_000,
    ...(frame.sweeps && antiEntropy ? { repairedBy: 'sweeps' as const } : {}),
    settings: drawn,
    invariants: Object.fromEntries(judged.map((name) => [name, floorOf(name)])),
  };
}

/** What a single replica acknowledged is lost with its disk: no transaction may rely on one. */
function kept(load: TransactionLoad): TransactionLoad {
  return { ...load, onePercent: 0, forcedPercent: 0 };
}

/** A drawn run promises no number of comparisons, except where every run makes one. */
function floorOf(name: InvariantName): number {
  return name === 'no-silent-failures' || name === 'determinism' ? 1 : 0;
}

/** The time of requests in a hurry, in milliseconds. */
const briefTimesMs: readonly number[] = [3, 10, 30, 100];

function settingsOf({
  settings: drawn,
  levels,
  cluster,
  credentials,
  small,
  edges,
  contexts,
  loser,
}: Frame): Settings {
  const limits = small ? soonReached : {};
  const given: Record<string, number | string | boolean> = { ...baseline, ...limits, ...drawn };
  if (cluster.datacenters > 1) Object.assign(given, levels);
  if (credentials) given['credentials'] = 'world';
  const needs = bucketNeedsFrom(Math.floor(loser / 1_000));
  if (needs !== '') given['bucket_needs'] = needs;
  const hurry = Math.floor(loser / 7_000);
  if (hurry % 3 === 0) given[briefRequests] = present(briefTimesMs[(hurry / 3) % 4], 'a brief time');
  if (edges) given['tokens_at_keys'] = true;
  if (contexts !== undefined) given['sibling_contexts'] = contexts.limits;
  // The last digits of `loser` choose a member; no other draw of the seed depends on the others.
  const ratio = sampleRatios[Math.floor(loser / 1_000) % sampleRatios.length];
  if (ratio !== undefined) Object.assign(given, { ...tracing, otel_sample_ratio: ratio });
  return given;
}

/** One to three datacenters, one to five racks, one to three nodes in each, and up to two spares. */
function clusters(): fc.Arbitrary<ClusterShape> {
  const shape = fc.record({
    datacenters: fc.constantFrom(1, 1, 1, 2, 2, 3),
    racks: fc.constantFrom(3, 3, 3, 1, 2, 4, 5),
    nodesPerRack: fc.constantFrom(1, 1, 2, 3),
    spares: integerIn([0, 2]),
    place: fc.nat(),
  });
  return shape.map(({ datacenters, racks, nodesPerRack, spares, place }) => {
    const fitting = Math.min(racks, Math.floor(membersMax / datacenters));
    const each = racksEach(datacenters, fitting, place);
    const all = each.reduce((sum, one) => sum + one, 0);
    const within = Math.max(1, Math.min(nodesPerRack, Math.floor(membersMax / all)));
    const added = Array.from({ length: spares }, (_, index) => {
      const at = (place + index) % datacenters;
      const rack = ((place + index) % present(each[at], 'the racks of a datacenter')) + 1;
      return { name: `n${all * within + index + 1}`, datacenter: `dc${at + 1}`, rack: `r${rack}` };
    });
    const isEven = each.every((one) => one === fitting);
    return {
      datacenters,
      racks: isEven ? fitting : each,
      nodesPerRack: within,
      ...(spares === 0 ? {} : { spares: added }),
    };
  });
}

/**
 * How many racks each datacenter has: `first` of them, or, in a third of the clusters of several datacenters, another
 * number in each but the first. Both come from `place`, so that no other draw of the seed depends on them.
 */
function racksEach(datacenters: number, first: number, place: number): readonly number[] {
  // The last digits of `place` choose the racks of spares.
  let draws = Math.floor(place / 1_000);
  const next = (count: number): number => {
    const draw = draws % count;
    draws = Math.floor(draws / count);
    return draw;
  };
  const isEven = next(3) !== 0;
  const racks = [first];
  for (let left = datacenters - 1; left > 0; left--) {
    const room = membersMax - racks.reduce((sum, one) => sum + one, 0) - (left - 1);
    const others = [1, 2, 3, 4, 5].filter((count) => count !== first && count <= room);
    racks.push(isEven ? first : (others[next(others.length)] ?? first));
  }
  return racks;
}

/** Some of the keys that have a trial, each with one of its values. */
function settings(): fc.Arbitrary<Settings> {
  const drawn: fc.Arbitrary<Settings>[] = [];
  for (const field of Object.keys(configKeys) as ConfigField[]) {
    const { trial } = configKeys[field];
    if ('untried' in trial) continue;
    const value = fc.constantFrom(...trial).map((one) => ({ [keyOf(field)]: one }));
    const percent = levelFields.includes(field) ? levelPercent : drawnPercent;
    drawn.push(maybe(percent, value).map((one) => one ?? {}));
  }
  return fc.tuple(...drawn).map((all) => Object.assign({}, ...all) as Settings);
}

/** Levels that other datacenters have a part in, more often than the others. */
function levels(): fc.Arbitrary<Settings> {
  const level = fc.constantFrom(...consistencyLevels, 'DC_EACH_SAFE_QUORUM');
  return fc.record({ read_consistency: level, write_consistency: level });
}

/** A subset of the kinds that can strike in this frame, each at random instants or near an event. */
function faultsIn(frame: Frame): fc.Arbitrary<readonly FaultDraw[]> {
  const possible = faultKindNames.filter((kind) => canStrike(kind, frame));
  const losing = possible.filter(losesCopies);
  const certain: readonly FaultKind[] = [
    // Credentials are there for these requests.
    ...(frame.credentials ? (['unauthorized-request'] as const) : []),
    ...(frame.moves ? possible.filter((kind) => kind === 'membership-change') : []),
    ...losing.slice(frame.loser % Math.max(1, losing.length)).slice(0, 1),
  ];
  return fc
    .tuple(
      fc.subarray(possible, { minLength: 0, maxLength: Math.min(kindsMax, possible.length) }),
      fc.array(burstOf(frame), { minLength: kindsMax + 1, maxLength: kindsMax + 1, size: 'max' }),
      chance(applyPercent),
    )
    .map(([kinds, bursts, atApply]) =>
      [...new Set<FaultKind>([...certain, ...kinds])].flatMap((kind, index) => {
        if (kind === 'heuristic-decision') return [...inDoubt, drawOf(kind, frame, undefined)];
        const draw = drawOf(kind, frame, bursts[index]);
        return [atApply && frame.transactions !== undefined ? strikingApply(draw) : draw];
      }),
    );
}

/** A disk's errors strike the writes with which a branch applies its transaction; other kinds stay as they are. */
function strikingApply(draw: FaultDraw): FaultDraw {
  const errors = certainErrors[draw.kind];
  if (errors === undefined) return draw;
  return { ...draw, ...errors, after: { event: beforeApply, nth: [1, 12], delayUs: [0, 300] } };
}

/** Near which event a kind's faults strike; undefined: at random instants alone. */
function burstOf({ transactions }: Frame): fc.Arbitrary<FaultDraw['after']> {
  const any = fc.constantFrom<string>(...events);
  const behindCommit = maybe(commitPercent, fc.constantFrom<string>(...commitEvents));
  const near = fc.record({
    event:
      transactions === undefined
        ? any
        : fc.tuple(behindCommit, any).map(([commit, other]) => commit ?? other),
    nth: fc.constantFrom<Range>([1, 3], [2, 12], [1, 40]),
    delayUs: fc.constantFrom<Range>([0, 0], [0, 2_000], [0, 80_000]),
  });
  return maybe(50, near);
}

function drawOf(kind: FaultKind, frame: Frame, after: FaultDraw['after']): FaultDraw {
  const terms = faultContract[kind] as FaultTerms & { readonly drawn: true };
  const { count, forUs, params, choices, group } = terms;
  const targets = targetsOf(kind, frame);
  return {
    kind,
    count,
    always: true,
    ...(forUs === undefined ? {} : { forUs }),
    ...(params === undefined ? {} : { params }),
    ...(choices === undefined ? {} : { choices }),
    ...(group === undefined ? {} : { group }),
    ...(targets === undefined ? {} : { targets }),
    ...(after === undefined || faultKinds[kind].aim === 'client'
      ? {}
      : { after: seenBy(kind, frame, after) }),
  };
}

/** Nothing happens at a spare before it joins: its moment is one of a member. */
function seenBy(
  kind: FaultKind,
  frame: Frame,
  after: NonNullable<FaultDraw['after']>,
): NonNullable<FaultDraw['after']> {
  return kind === 'membership-change' ? { ...after, host: `n${1 + loserOf(frame)}` } : after;
}

/** Spares join and members leave; every other kind strikes any member. */
function targetsOf(kind: FaultKind, frame: Frame): readonly string[] | undefined {
  const { cluster } = frame;
  const { nodesPerRack, spares = [] } = cluster;
  if (losesCopies(kind)) return [`n${1 + loserOf(frame)}`];
  if (kind !== 'membership-change') return undefined;
  const isAlone = frame.replaced && hasBranches(frame);
  const leaver = nodesPerRack > 1 && !isAlone ? [`n${membersOf(cluster)}`] : [];
  return [...spares.map(({ name }) => name), ...leaver];
}

/** How many nodes are members from the start. */
function membersOf(cluster: ClusterShape): number {
  return racksIn(cluster) * cluster.nodesPerRack;
}

function racksIn(cluster: ClusterShape): number {
  return racksOf(cluster).reduce((sum, one) => sum + one, 0);
}

/** The place of the one member that may lose copies, from 0. */
function loserOf({ cluster, loser }: Pick<Frame, 'cluster' | 'loser'>): number {
  return loser % membersOf(cluster);
}

/** Whether the other racks of its datacenter hold a majority of the copies without the member that may lose some. */
function spareCopies(frame: Pick<Frame, 'cluster' | 'loser'>): boolean {
  const { cluster } = frame;
  const nodes = nodesOf({ ...cluster, spares: [] });
  const { datacenter } = present(nodes[loserOf(frame)], 'the member that may lose copies');
  const near = nodes.filter((node) => node.datacenter === datacenter);
  return new Set(near.map(({ rack }) => rack)).size >= 3;
}

/** Whether transactions have branches: those of clients, and commands of Redis. */
function hasBranches({ transactions, redis }: Pick<Frame, 'transactions' | 'redis'>): boolean {
  return transactions !== undefined || redis !== undefined;
}

function losesCopies(kind: FaultKind): boolean {
  const terms = faultContract[kind];
  return terms.drawn && terms.losesCopies === true;
}

function canStrike(kind: FaultKind, frame: Frame): boolean {
  const terms = faultContract[kind];
  if (!terms.drawn) return false;
  const { aim, clients = [] } = faultKinds[kind];
  if (aim === 'client' && !clients.some((sort) => hasClients(sort, frame))) return false;
  return (terms.demands ?? []).every((demand) => isMet(demand, frame));
}

function hasClients(sort: 'c' | 'x' | 'r' | 'j', { transactions, redis, jobs }: Frame): boolean {
  return { c: true, x: transactions !== undefined, r: redis !== undefined, j: jobs !== undefined }[sort];
}

function isMet(demand: Demand, frame: Frame): boolean {
  const { spares = [] } = frame.cluster;
  const drawn = settingsOf(frame);
  switch (demand) {
    case 'peers':
      return membersOf(frame.cluster) > 1;
    case 'racks':
      return racksIn(frame.cluster) > 1;
    case 'branches':
      return hasBranches(frame);
    case 'transactions':
      return frame.transactions !== undefined;
    case 'modules':
      return drawn['features_wasm'] === true;
    case 'credentials':
      return frame.credentials;
    case 'spares':
      return spares.length > 0;
    case 'anti-entropy':
      return drawn['aae_enabled'] !== false;
    case 'spare-copies':
      return frame.losing && spareCopies(frame);
  }
}

function chance(percent: number): fc.Arbitrary<boolean> {
  return integerIn([0, 99]).map((drawn) => drawn < percent);
}

function maybe<T>(percent: number, value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.tuple(chance(percent), value).map(([is, drawn]) => (is ? drawn : undefined));
}
