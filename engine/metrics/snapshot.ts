/**
 * Takes the statistics at one instant as a frozen value. Both renderings of the stats listener are made from it alone,
 * so they agree in every number. Taking a snapshot changes no live value.
 */
import { assert } from '../base/assert.ts';
import type { CollectedFamily, Family, FamilySource, Sample } from './family.ts';
import { poolFields, serverFields } from './fixed-fields.ts';
import type { Rollup } from './histogram.ts';
import type { HistogramName } from './histogram-table.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import type { NodeStats } from './node-stats.ts';

/** Identity of the publishing node. */
export interface StatsIdentity {
  /** The node's name. */
  readonly source: string;
  readonly version: string;
  readonly rack: string;
  /** The pool's name: the root key of the configuration file. */
  readonly dc: string;
  /** The pool's name: the configuration file's root key. */
  readonly pool: string;
  /** The store driver's name. */
  readonly server: string;
}

/** The environment's values at the instant of the snapshot. */
export interface StatsInstant {
  /** 1 for the first snapshot of an incarnation, then one more each time. */
  readonly sequence: number;
  readonly uptimeSeconds: number;
  /** Wall clock, in seconds since the epoch. */
  readonly timestampSeconds: number;
  readonly residentBytes: number;
}

/** The statistics at one instant. Frozen. */
export interface StatsSnapshot extends StatsInstant {
  readonly identity: StatsIdentity;
  readonly allocMsgs: number;
  readonly freeMsgs: number;
  readonly allocMbufs: number;
  readonly freeMbufs: number;
  /** In the order of `poolFields`. */
  readonly pool: readonly number[];
  /** In the order of `serverFields`. */
  readonly server: readonly number[];
  readonly rollups: Readonly<Record<HistogramName, Rollup>>;
  /** Number of values that each rollup covers. Not published: neither format has a place for it. */
  readonly recorded: Readonly<Record<HistogramName, number>>;
  /** `svc_peer_state`, which is published among the base families. */
  readonly peerState: readonly CollectedFamily[];
  /** Failure causes, anti-entropy and registered families, in this order. */
  readonly families: readonly CollectedFamily[];
}

/**
 * Reads all values. Throws `AssertionError` if a module provides a number that is not whole (or, in a registered
 * family, not finite). Unchanged parts are shared with the snapshot `before`: most of about a thousand samples rarely
 * change.
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
    server: Object.freeze(serverFields.map((field) => whole(field, stats.readServer(field)))),
    rollups: ofHistograms((name) => Object.freeze(stats[name].rollup())),
    recorded: ofHistograms((name) => stats[name].count),
    peerState: collectAll(failures.base, before?.peerState),
    families: collectAll(
      [...failures.families, ...antiEntropy.families, ...stats.families],
      before?.families,
    ),
  });
}

function ofHistograms<Value>(read: (name: HistogramName) => Value): Readonly<Record<HistogramName, Value>> {
  const values = {} as Record<HistogramName, Value>;
  for (const { field } of HISTOGRAMS) values[field] = read(field);
  return Object.freeze(values);
}

function poolOf(stats: NodeStats): readonly number[] {
  const values = stats.readPool(poolFields);
  return poolFields.map((field, index) => whole(field, values[index] ?? NaN));
}

function collectAll(
  sources: readonly FamilySource[],
  before: readonly CollectedFamily[] = [],
): readonly CollectedFamily[] {
  return Object.freeze(sources.map((source, index) => collect(source, before[index])));
}

/** Copies the samples, because the live ones keep changing; shares their labels. */
function collect(source: FamilySource, before: CollectedFamily | undefined): CollectedFamily {
  const family: Family = source;
  const known = before?.family === family ? before : undefined;
  const samples = source.collect();
  if (known !== undefined && areSame(samples, known.samples)) return known;
  const copies: Sample[] = [];
  // Loops instead of closures: hundreds of families are collected each second, and code compiled for a closure is lost
  // with it.
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

function isSame({ labels, value, suffix }: Sample, other: Sample | undefined): boolean {
  return labels === other?.labels && value === other.value && suffix === other.suffix;
}

function freezeSample(family: Family, { labels, value, suffix }: Sample): Sample {
  assert(Number.isFinite(value), `a sample of ${family.name} is finite`);
  return Object.freeze(suffix === undefined ? { labels, value } : { labels, value, suffix });
}

function whole(field: string, value: number): number {
  assert(Number.isSafeInteger(value), `${field} is a whole number`);
  return value;
}
