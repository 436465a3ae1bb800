/**
 * Records every anti-entropy exchange: its report, and the contents of both sides' stores when it began, while it ran
 * and when it ended. Records every saved tree beside the tree that the store's contents imply. The trace supplies the
 * nodes' reports (begun, reported, ended); the disks supply the facts to compare them with.
 */
import { byteStringOf } from '../../engine/base/ids.ts';
import type { Token } from '../../engine/base/ids.ts';
import { nameOfKey } from '../../engine/base/object-key.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { snapshotPath } from '../../engine/anti-entropy/snapshot.ts';
import { decodeSnapshot } from '../../engine/anti-entropy/snapshot-file.ts';
import { emptyVector, includesVector, mergeVectors } from '../../engine/replica/object/dots.ts';
import { liveSiblings } from '../../engine/replica/object/object.ts';
import type {
  ExchangeRecord,
  LeafRecord,
  ReportedKey,
  ReplacementRecord,
  SweepStart,
} from '../check/anti-entropy/exchanges.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';
import { contextLimitsOf } from './context-pruning.ts';
import type { HeldVersion } from './replica-shadow.ts';
import { FlushHistory } from './flush-history.ts';
import { ReplicaShadow, entryHash } from './replica-shadow.ts';
import { ReplacementRule, contextOf, objectOf } from './replacement-rule.ts';
import { StoreSyncs } from './store-syncs.ts';

/**
 * A write this much older than an exchange may still become visible during it, in virtual microseconds: a record counts
 * once it is synced.
 */
const slackUs = 2_000_000;

/** Bytes of a snapshot's head, up to and including the id of the store. */
const snapshotHeadBytes = 36;

/** What two stores hold of the keys that both nodes own. */
interface Comparison {
  readonly differing: ReadonlySet<string>;
  /** Keys on which they differ by nothing but objects that were flushed. */
  readonly flushed: ReadonlySet<string>;
  /** Keys of which one side has removed its record while the other one holds a tombstone. */
  readonly removed: ReadonlySet<string>;
  /** Keys that an incarnation's snapshot does not cover. */
  readonly sinceSnapshot: ReadonlySet<string>;
}

interface OpenExchange {
  readonly node: string;
  readonly peer: string;
  readonly beganUs: number;
  readonly differing: ReadonlySet<string>;
  readonly flushed: ReadonlySet<string>;
  readonly sinceSnapshot: ReadonlySet<string>;
  readonly reported: ReportedKey[];
  /** Keys whose newest record on either side was not synced when the exchange began. */
  readonly unsynced: ReadonlySet<string>;
  /** The newest sequence number of each side's store when the exchange began. */
  readonly positions: readonly number[];
}

/** Collects the evidence for `exchange-soundness`, `repair-soundness`, `snapshot-rejection` and related checks. */
export class ExchangeObserver {
  readonly exchanges: ExchangeRecord[] = [];
  readonly leaves: LeafRecord[] = [];
  readonly successions: ReplacementRecord[] = [];
  readonly sweeps: SweepStart[] = [];
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #shadows = new Map<string, ReplicaShadow>();
  readonly #rules = new ReplacementRule();
  readonly #flushes = new FlushHistory();
  readonly #open = new Map<string, OpenExchange>();
  /** The store position of the snapshot that the incarnation loaded; absent when it started without one. */
  readonly #loaded = new Map<string, number>();
  /** Nodes whose tree has an altered leaf. */
  readonly #altered = new Set<string>();
  readonly #rotten = new Set<string>();
  /**
   * By node whose store takes no writes any more: keys whose newest record may belong to the write that failed. The disk
   * may have taken it whole; the node does not count it before its next start.
   */
  readonly #doubted = new Map<string, ReadonlySet<string>>();
  readonly #syncs: StoreSyncs;
  #moving = false;

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#syncs = new StoreSyncs(world);
    this.#cluster = cluster;
    for (const name of cluster.names) this.#watch(name);
    const on = (name: string, listener: (event: TraceEvent) => void): void =>
      void world.trace.on(name, listener);
    on('store.opened', ({ host }) => {
      this.#doubted.delete(host);
      this.#opened(host);
    });
    on('store.failed', ({ host, atUs }) => {
      this.#doubted.set(host, new Set(this.#touched(host, host, atUs - slackUs).keys()));
    });
    // What cannot be read is lost, also where the disk itself is whole.
    const failing = new Set<string>();
    on('disk.failed', ({ host, fields }) => {
      if (String(fields['what']).startsWith('read store/')) failing.add(host);
    });
    on('store.damage.found', ({ host }) => {
      if (failing.has(host)) this.#rotten.add(host);
    });
    on('aae.snapshot.loaded', ({ host, fields }) => this.#loaded.set(host, Number(fields['position'])));
    on('aae.snapshot.saved', ({ host, atUs }) => this.#saved(host, atUs));
    on('aae.exchange.started', ({ host, fields }) => this.#began(host, String(fields['peer'])));
    on('aae.key.diverged', ({ host, fields }) => {
      const report = { key: String(fields['key']), outcome: String(fields['outcome']) };
      this.#open.get(host)?.reported.push(report);
    });
    on('aae.exchange.finished', ({ host, fields }) =>
      this.#ended(host, 'finished', Number(fields['listed'])),
    );
    on('aae.exchange.aborted', ({ host, fields }) => this.#ended(host, 'aborted', 0, String(fields['code'])));
    on('aae.sweep.started', ({ host, atUs }) => {
      if (!cluster.names.includes(host)) return;
      const intervalUs = cluster.configOf(host).aaeFullSweepIntervalSeconds * 1_000_000;
      this.sweeps.push({ incarnation: `${host}, life ${cluster.host(host).lives}`, atUs, intervalUs });
    });
    cluster.onLifeEnding((name) => {
      this.#ended(name, 'cut', 0);
      this.#shadows.get(name)?.closed();
    });
  }

  /** A fault changed a leaf of the node's tree and kept the checksum valid. */
  altered(node: string): void {
    this.#altered.add(node);
  }

  /** From now on ownership changes: the observer no longer knows which keys two nodes share. */
  ringMoves(): void {
    this.#moving = true;
  }

  shadow(name: string): ReplicaShadow | undefined {
    return this.#shadows.get(name);
  }

  #watch(name: string): void {
    const shadow = new ReplicaShadow(
      () => this.#world.nowUs,
      (change) => {
        const { atUs, key } = change;
        const limits = contextLimitsOf(key, this.#cluster.configOf(name).bucketTypes);
        const fault = shadow.blind || this.isRotten(name) ? '' : this.#rules.faultOf(change, limits);
        this.successions.push({ node: name, atUs, key: nameOfKey(key), fault });
      },
      ({ key, value }) => {
        if (value !== 'damaged') this.#flushes.learn(key, value);
      },
    );
    this.#shadows.set(name, shadow);
    this.#cluster.host(name).disk.watch({
      wrote: (_host, _life, path, _content, from, whole) => shadow.wrote(path, whole, from),
      altered: (_host, path) => {
        if (path.startsWith('store/')) this.#rotten.add(name);
      },
    });
  }

  #opened(host: string): void {
    this.#loaded.delete(host);
    this.#shadows.get(host)?.opened(this.#cluster.host(host).disk.durableFiles());
  }

  #began(node: string, peer: string): void {
    const { differing, flushed, sinceSnapshot } = this.#compare(node, peer);
    const beganUs = this.#world.nowUs;
    const positions = [node, peer].map((name) => this.#shadows.get(name)?.seqSeen ?? 0);
    const unsynced = new Set([node, peer].flatMap((name) => this.#unsyncedAt(name)));
    const found = { differing, flushed, sinceSnapshot, unsynced, reported: [] };
    this.#open.set(node, { node, peer, beganUs, positions, ...found });
  }

  #ended(node: string, end: ExchangeRecord['end'], listed: number, code = ''): void {
    const open = this.#open.get(node);
    if (open === undefined) return;
    this.#open.delete(node);
    const { unsynced, ...begun } = open;
    const { peer, beganUs } = begun;
    const { differing: differingAtEnd, removed } = this.#compare(node, peer);
    const failed = [node, peer].flatMap((name) => [...(this.#doubted.get(name) ?? [])]);
    this.exchanges.push({
      ...begun,
      end,
      code,
      listed,
      endedUs: this.#world.nowUs,
      differingAtEnd,
      touched: this.#touched(node, peer, beganUs - slackUs),
      touchedWithin: this.#touched(node, peer, beganUs),
      doubted: new Set([...unsynced, ...failed]),
      fromElsewhere: this.#fromElsewhere(open),
      removed,
      skipped: this.#whySkipped(node, peer),
      altered: this.#altered.has(node) || this.#altered.has(peer),
    });
  }

  #whySkipped(node: string, peer: string): string {
    if (this.#moving) return 'the ring changes';
    const hurt = [node, peer].find((name) => this.#shadows.get(name)?.blind !== false || this.isRotten(name));
    return hurt === undefined ? '' : `${hurt} holds what cannot be read`;
  }

  /**
   * A fault altered a place in the node's log at some time, and the observer cannot know whether the node has noticed; or
   * the node has taken a place for lost after a read of its log failed.
   */
  isRotten(name: string): boolean {
    return this.#rotten.has(name);
  }

  #compare(node: string, peer: string): Comparison {
    const differing = new Set<string>();
    const present = new Set<string>();
    const removed = new Set<string>();
    const sinceSnapshot = new Set<string>();
    const [mine, theirs] = [this.#shadows.get(node), this.#shadows.get(peer)];
    const flushed = new Set<string>();
    if (mine === undefined || theirs === undefined) return { differing, flushed, removed, sinceSnapshot };
    for (const key of new Set([...mine.keys, ...theirs.keys])) {
      const [left, right] = [mine.newest(key), theirs.newest(key)];
      const token = left?.token ?? right?.token ?? 0;
      if (!this.#share(token, node, peer)) continue;
      if (!isSame(left?.value, right?.value)) {
        differing.add(nameOfKey(key));
        if (!this.#flushes.isFlushed(key)) present.add(nameOfKey(key));
        if (hasRemovedTombstone(left, right) || hasRemovedTombstone(right, left)) removed.add(nameOfKey(key));
      }
      if (this.#isSinceSnapshot(node, mine, key) || this.#isSinceSnapshot(peer, theirs, key)) {
        sinceSnapshot.add(nameOfKey(key));
      }
    }
    for (const key of differing) if (!present.has(key)) flushed.add(key);
    return { differing, flushed, removed, sinceSnapshot };
  }

  #isSinceSnapshot(name: string, shadow: ReplicaShadow, key: PackedKey): boolean {
    const position = this.#loaded.get(name);
    const seq = shadow.newest(key)?.seq ?? 0;
    return position !== undefined && seq > position && seq <= shadow.seqAtOpen;
  }

  #unsyncedAt(name: string): readonly string[] {
    return [...this.#touched(name, name, this.#syncs.unsyncedSinceUs(name)).keys()];
  }

  #share(token: number, left: string, right: string): boolean {
    const nodes = this.#cluster.ring.placement(token as Token).map(({ node }) => String(node));
    return nodes.includes(left) && nodes.includes(right);
  }

  #touched(left: string, right: string, sinceUs: number): ReadonlyMap<string, number> {
    const touched = new Map<string, number>();
    for (const name of [left, right]) {
      const changes = this.#shadows.get(name)?.changes ?? [];
      for (let index = changes.length - 1; index >= 0; index--) {
        const change = changes[index];
        if (change === undefined || change.atUs < sinceUs) break;
        const key = nameOfKey(change.key);
        touched.set(key, (touched.get(key) ?? 0) + 1);
      }
    }
    return touched;
  }

  /** Keys written since the exchange began, of which one side now holds a version that neither side held then. */
  #fromElsewhere({ node, peer, beganUs, positions }: OpenExchange): ReadonlySet<string> {
    const sides = [node, peer].map((name) => this.#shadows.get(name));
    const found = new Set<string>();
    for (const { atUs, key } of sides.flatMap((side) => side?.changes ?? [])) {
      if (atUs < beganUs) continue;
      const before = sides.map((side, index) => side?.at(key, positions[index] ?? 0));
      const after = sides.map((side) => side?.newest(key));
      if (hasNews(before, after)) found.add(nameOfKey(key));
    }
    return found;
  }

  /** Compares the saved tree, leaf by leaf, with the records up to its position. */
  #saved(node: string, atUs: number): void {
    const shadow = this.#shadows.get(node);
    // An impostor saves a tree, too.
    if (shadow === undefined || shadow.blind) return;
    const bytes = this.#cluster.host(node).disk.durableFiles().get(snapshotPath);
    // A sync that lied may have left nothing of it.
    if (bytes === undefined || bytes.length < snapshotHeadBytes) return;
    if (this.isRotten(node) || this.#altered.has(node)) return;
    const reading = decodeSnapshot(bytes, {
      segmentBits: 31 - Math.clz32(bytes.readUInt32BE(12)),
      node: byteStringOf(node),
      storeId: bytes.toString('hex', 20, 36),
    });
    if (reading.kind !== 'read') {
      this.leaves.push({ node, atUs, segment: -1, saved: reading.reason, derived: 'a sound snapshot' });
      return;
    }
    const { tree, position } = reading;
    const derived = new Map<number, { count: number; high: number; low: number }>();
    const unknown = new Set<number>();
    for (const key of shadow.keys) {
      const version = shadow.at(key, position);
      const newest = shadow.newest(key);
      if (newest === undefined) continue;
      const segment = tree.segmentOf(version === 'unknown' ? newest.token : (version?.token ?? newest.token));
      if (version === 'unknown') unknown.add(segment);
      if (version === undefined || version === 'unknown' || version.value === undefined) continue;
      const [high, low] = entryHash(key, version.value);
      const sum = derived.get(segment) ?? { count: 0, high: 0, low: 0 };
      derived.set(segment, {
        count: sum.count + 1,
        high: (sum.high + high) % 2 ** 32,
        low: (sum.low + low) % 2 ** 32,
      });
    }
    for (let segment = 0; segment < tree.segmentCount; segment++) {
      if (tree.isDirty(segment) || unknown.has(segment)) continue;
      const { count, high, low } = derived.get(segment) ?? { count: 0, high: 0, low: 0 };
      if (count === 0 && tree.countOf(segment) === 0) continue;
      const saved = `${tree.countOf(segment)} keys and hash ${tree.highOf(segment)}/${tree.lowOf(segment)}`;
      this.leaves.push({ node, atUs, segment, saved, derived: `${count} keys and hash ${high}/${low}` });
    }
  }
}

/** Also true when the earlier version is no longer remembered. */
function hasNews(
  before: readonly (HeldVersion | 'unknown' | undefined)[],
  after: readonly (HeldVersion | undefined)[],
): boolean {
  if (before.includes('unknown')) return true;
  const known = before.map((version) => (version === 'unknown' ? emptyVector : contextOf(version)));
  const together = known.reduce(mergeVectors, emptyVector);
  return after.some((version) => !includesVector(together, contextOf(version)));
}

/** Whether one side has removed its record of a key and the other one holds a tombstone. */
function hasRemovedTombstone(one: HeldVersion | undefined, other: HeldVersion | undefined): boolean {
  if (one === undefined || one.value !== undefined) return false;
  const kept = objectOf(other);
  return kept !== undefined && liveSiblings(kept).length === 0;
}

function isSame(left: Buffer | undefined, right: Buffer | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return Buffer.compare(left, right) === 0;
}
