/**
 * The stats at one instant, as a frozen value: the only thing that the renderings of the stats listener are made of, so
 * that they agree in every number. Taking one reads the live numbers and changes none of them.
 */
import { assert } from '../base/assert.ts';
import type { CollectedFamily, Family, FamilySource, Sample } from './family.ts';
import type { Rollup } from './histogram.ts';
import type { HistogramName } from './histogram-table.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import type { NodeStats } from './node-stats.ts';
import { POOL_CODEC } from './pool-codec.ts';
import { SERVER_CODEC } from './server-codec.ts';

/** Who publishes. */
export interface StatsIdentity {
  /** The node's name. */
  readonly source: string;
  readonly version: string;
  readonly rack: string;
  readonly dc: string;
  /** The pool's name: the configuration file's root key. */
  readonly pool: string;
  /** The store driver's name. */
  readonly server: string;
}

/** What the machine says at the instant of the snapshot. */
export interface StatsInstant {
  /** 1 for the first snapshot of a node's life, then one more each time. */
  readonly sequence: number;
  readonly uptimeSeconds: number;
  /** Wall clock, seconds since the epoch. */
  readonly timestampSeconds: number;
  readonly residentBytes: number;
}

export interface StatsSnapshot extends StatsInstant {
  readonly identity: StatsIdentity;
  readonly allocMsgs: number;
  readonly freeMsgs: number;
  readonly allocMbufs: number;
  readonly freeMbufs: number;
  /** In the order of `POOL_CODEC`. */
  readonly pool: readonly number[];
  /** In the order of `SERVER_CODEC`. */
  readonly server: readonly number[];
  readonly rollups: Readonly<Record<HistogramName, Rollup>>;
  /** How many values each rollup speaks of. Not published: the service document has no place for it. */
  readonly recorded: Readonly<Record<HistogramName, number>>;
  /** `svc_peer_state`, which stands among the base families. */
  readonly peerState: readonly CollectedFamily[];
  /** Failure causes, anti-entropy, and what the rooms registered, in this order. */
  readonly families: readonly CollectedFamily[];
}

/**
 * Reads everything. A number that is not whole (or, of a registered family, not finite) is a bug of its room. What has
 * not changed since the snapshot `before` is shared with it: of a thousand samples most stand still for long.
 */
export function takeSnapshot(
  stats: NodeStats,
  identity: StatsIdentity,
  instant: StatsInstant,
  before?: StatsSnapshot,
): StatsSnapshot {
  const messages = stats.readMessages();
  const chunks = stats.readChunks();
  const { failures, antiEntropy } = stats;
  return Object.freeze({
    identity: Object.freeze({ ...identity }),
    ...instant,
    allocMsgs: whole('alloc_msgs', messages.allocated),
    freeMsgs: whole('free_msgs', messages.free),
    allocMbufs: whole('alloc_mbufs', chunks.allocated),
    freeMbufs: whole('free_mbufs', chunks.free),
    pool: Object.freeze(poolOf(stats)),
    server: Object.freeze(SERVER_CODEC.map(({ field }) => whole(field, stats.readServer(field)))),
    rollups: rollupsOf(stats),
    recorded: recordedOf(stats),
    peerState: collectAll(failures.base, before?.peerState),
    families: collectAll(
      [...failures.families, ...antiEntropy.families, ...stats.families],
      before?.families,
    ),
  });
}

function rollupsOf(stats: NodeStats): Readonly<Record<HistogramName, Rollup>> {
  const rollup = (name: HistogramName): Rollup => Object.freeze(stats[name].rollup());
  return Object.freeze({
    requestLatencyUs: rollup('requestLatencyUs'),
    payloadBytes: rollup('payloadBytes'),
    crossRegionLatencyUs: rollup('crossRegionLatencyUs'),
    crossZoneLatencyUs: rollup('crossZoneLatencyUs'),
    serverLatencyUs: rollup('serverLatencyUs'),
    crossRegionQueueWaitUs: rollup('crossRegionQueueWaitUs'),
    crossZoneQueueWaitUs: rollup('crossZoneQueueWaitUs'),
    serverQueueWaitUs: rollup('serverQueueWaitUs'),
    clientOutQueue: rollup('clientOutQueue'),
    serverInQueue: rollup('serverInQueue'),
    serverOutQueue: rollup('serverOutQueue'),
    dnodeClientOutQueue: rollup('dnodeClientOutQueue'),
    peerInQueue: rollup('peerInQueue'),
    peerOutQueue: rollup('peerOutQueue'),
    remotePeerInQueue: rollup('remotePeerInQueue'),
    remotePeerOutQueue: rollup('remotePeerOutQueue'),
  });
}

function recordedOf(stats: NodeStats): Readonly<Record<HistogramName, number>> {
  const counts = {} as Record<HistogramName, number>;
  for (const { field } of HISTOGRAMS) counts[field] = stats[field].count;
  return Object.freeze(counts);
}

function poolOf(stats: NodeStats): readonly number[] {
  const values = stats.readPool(POOL_CODEC.map(({ field }) => field));
  return POOL_CODEC.map(({ field }, index) => whole(field, values[index] ?? NaN));
}

function collectAll(
  sources: readonly FamilySource[],
  before: readonly CollectedFamily[] = [],
): readonly CollectedFamily[] {
  return Object.freeze(sources.map((source, index) => collect(source, before[index])));
}

/** The live samples go on changing, so they are copied; their labels are shared. */
function collect(source: FamilySource, before: CollectedFamily | undefined): CollectedFamily {
  const family: Family = source;
  const known = before?.family === family ? before : undefined;
  const samples = source.collect();
  if (known !== undefined && areSame(samples, known.samples)) return known;
  const copies: Sample[] = [];
  // Loops, not closures: there are hundreds of families a second, and what is compiled for a closure dies with it.
  for (const sample of samples) {
    const last = known?.samples[copies.length];
    copies.push(last !== undefined && isSame(sample, last) ? last : freezeSample(family, sample));
  }
  return Object.freeze({ family, samples: Object.freeze(copies) });
}

function areSame(samples: readonly Sample[], others: readonly Sample[]): boolean {
  if (samples.length !== others.length) return false;
  for (let at = 0; at < samples.length; at++) {
    const sample = samples[at];
    if (sample === undefined || !isSame(sample, others[at])) return false;
  }
  return true;
}

function isSame({ labels, value }: Sample, other: Sample | undefined): boolean {
  return labels === other?.labels && value === other.value;
}

function freezeSample(family: Family, { labels, value }: Sample): Sample {
  assert(Number.isFinite(value), `a sample of ${family.name} is finite`);
  return Object.freeze({ labels, value });
}

function whole(field: string, value: number): number {
  assert(Number.isSafeInteger(value), `${field} is a whole number`);
  return value;
}
