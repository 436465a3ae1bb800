/**
 * Follows the anti-entropy of one incarnation for `metrics-reconcile`: its exchanges and their results, the trees that
 * it saved, and the snapshot that it found on its disk. A snapshot is sound when its bytes equal a snapshot that the
 * same node once wrote completely. Every other snapshot must be rejected.
 */
import { createHash } from 'node:crypto';

import { snapshotPath } from '../../engine/anti-entropy/snapshot.ts';
import type { AntiEntropyTruth, PeerExchanges } from '../check/metrics/reconcile/account.ts';
import type { PlanNode } from '../plan/plan-node.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';
import type { ExchangeObserver } from './exchange-observer.ts';
import { Tallies } from './tallies.ts';

/** Upper bound of the time from a write to its visibility, in virtual microseconds. */
const slackUs = 2_000_000;
const beside = `${snapshotPath}.new`;
/** Offset of the store id; the store's position follows the node's name (engine/anti-entropy/snapshot-file.ts). */
const nameAt = 36;

interface Book {
  readonly sums: Tallies;
  /** Number of peers with an exchange in progress. */
  underWay: number;
  readonly sweptSeconds: Map<string, number>;
  /** Virtual time at which the tree was last certainly current: the begin of a finished exchange of either side. */
  freshUs: number;
  /** When the last sweep began, which marks all segments dirty; -1 before the first. */
  sweptUs: number;
  /** This incarnation has begun to update the tree. */
  begun: boolean;
}

/** Counts what each incarnation's anti-entropy does; supplies the expected values for its metrics. */
export class AntiEntropyObserver {
  readonly #cluster: Cluster;
  readonly #nodes: ReadonlyMap<string, PlanNode>;
  readonly #exchanges: ExchangeObserver;
  /** Number of segments of the nodes' trees; 0 where anti-entropy is off. */
  readonly #segments: number;
  readonly #books = new Map<string, Book>();
  /** Digests of every snapshot that a node wrote, and of the altered ones with a valid checksum that a fault wrote. */
  readonly #sound = new Set<string>();
  readonly #alteredLeaves = new Tallies();

  constructor(
    world: World,
    cluster: Cluster,
    nodes: readonly PlanNode[],
    exchanges: ExchangeObserver,
    segments: number,
  ) {
    this.#cluster = cluster;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#exchanges = exchanges;
    this.#segments = segments;
    const on = (name: string, take: (book: Book, event: TraceEvent) => void): void => {
      world.trace.on(name, (event) => {
        if (this.#nodes.has(event.host)) take(this.#bookOf(event.host), event);
      });
    };
    on('store.opened', (book, { host }) => this.#find(book, host));
    on('aae.snapshot.saved', ({ sums }) => sums.add('saved'));
    on('aae.leaf.refuted', ({ sums }) => sums.add('refuted'));
    // A sweep marks everything dirty. From then on only a finished exchange proves that all of it was derived again.
    on('aae.sweep.began', (book, { atUs }) => {
      book.begun = true;
      book.freshUs = -1;
      book.sweptUs = atUs;
    });
    on('aae.exchange.started', (book, event) => {
      book.underWay += 1;
      this.#begin(event);
      book.sums.add(`attempts ${this.#placeOf(event)}`);
    });
    on('aae.exchange.finished', (book, event) => {
      book.underWay -= 1;
      book.sums.add(`successes ${this.#placeOf(event)}`);
      this.#finish(event);
    });
    on('aae.exchange.aborted', (book, event) => {
      book.underWay -= 1;
      book.sums.add(`aborted ${this.#placeOf(event)}`);
      book.sums.add(`aborted at ${String(event.fields['step'])}`);
    });
    on('aae.key.diverged', ({ sums }, event) => {
      sums.add(`divergent ${this.#placeOf(event)}`);
      if (event.fields['outcome'] === 'repaired') sums.add(`repairs ${this.#placeOf(event)}`);
    });
    on('aae.peer.swept', ({ sweptSeconds }, event) => {
      const seconds = Math.floor(this.#cluster.host(event.host).clock.wallMs / 1000);
      sweptSeconds.set(String(event.fields['peer']), seconds);
    });
    for (const name of this.#nodes.keys()) {
      cluster.host(name).disk.watch({
        wrote: (host, _life, path, content) => {
          if (path === beside) this.#sound.add(digestOf(host, content));
        },
      });
    }
  }

  /** A fault replaced the node's snapshot by these bytes: one leaf altered, the checksum valid. */
  altered(node: string, bytes: Buffer): void {
    this.#sound.add(digestOf(node, bytes));
    this.#alteredLeaves.add(node);
  }

  truthOf(node: string): AntiEntropyTruth {
    const { sums, underWay, sweptSeconds } = this.#bookOf(node);
    const places = new Set([...this.#nodes.values()].filter(({ name }) => name !== node).map(placeOf));
    const byPlace: Record<string, PeerExchanges> = {};
    for (const place of places) {
      byPlace[place] = {
        attempts: sums.get(`attempts ${place}`),
        successes: sums.get(`successes ${place}`),
        aborted: sums.get(`aborted ${place}`),
        divergentKeys: sums.get(`divergent ${place}`),
        repairs: sums.get(`repairs ${place}`),
      };
    }
    return {
      byPlace,
      abortedAt: sums.under('aborted at '),
      underWay,
      saved: sums.get('saved'),
      loaded: sums.get('loaded'),
      rejected: sums.get('rejected'),
      refuted: sums.get('refuted'),
      alteredLeaves: this.#alteredLeaves.get(node),
      sweptSeconds: [...sweptSeconds.values()].reduce((sum, seconds) => sum + seconds, 0),
      dirty: this.#dirtyOf(node),
    };
  }

  /**
   * The least and greatest possible number of dirty segments. It is exact in two cases. All segments are dirty while an
   * incarnation that began without a snapshot has derived nothing. None is dirty after an exchange that began after the
   * node's last write. Both hold only where every node holds all keys.
   */
  #dirtyOf(node: string): readonly [number, number] {
    const book = this.#bookOf(node);
    const shadow = this.#exchanges.shadow(node);
    const racks = new Set([...this.#nodes.values()].map(placeOf));
    if (racks.size < this.#nodes.size || shadow === undefined || this.#segments === 0)
      return [0, this.#segments];
    if (!book.begun && book.sums.get('loaded') === 0) return [this.#segments, this.#segments];
    // A leaf that was found wrong stays dirty until the next exchange.
    if (this.#alteredLeaves.get(node) > 0) return [0, this.#segments];
    const lastUs = shadow.changes.at(-1)?.atUs ?? 0;
    const fresh = book.freshUs > lastUs + slackUs && !shadow.blind && !this.#exchanges.isRotten(node);
    return [0, fresh ? 0 : this.#segments];
  }

  #begin(event: TraceEvent): void {
    for (const name of [event.host, String(event.fields['peer'])]) {
      if (this.#nodes.has(name)) this.#bookOf(name).begun = true;
    }
  }

  #finish(event: TraceEvent): void {
    const beganUs = this.#exchanges.exchanges.at(-1)?.beganUs ?? -1;
    const peer = String(event.fields['peer']);
    this.#derived(this.#bookOf(event.host), beganUs);
    if (this.#nodes.has(peer) && !this.#hasDouble(peer)) this.#derived(this.#bookOf(peer), beganUs);
  }

  /** An exchange that began then has finished: unless a sweep has begun since, all segments were derived in between. */
  #derived(book: Book, beganUs: number): void {
    if (beganUs > book.sweptUs) book.freshUs = beganUs;
  }

  /** Another process runs under the node's name: its peers may be exchanging with that process. */
  #hasDouble(node: string): boolean {
    const { impositions } = this.#cluster.impostors;
    return impositions.some(({ victim, claim }) => victim === node && claim === 'sameName');
  }

  /** The snapshot on the disk at the incarnation's start decides whether it must load or reject it. */
  #find({ sums }: Book, host: string): void {
    const bytes = this.#cluster.host(host).disk.currentFile(snapshotPath);
    // A node has two stores; its snapshot is found once.
    if (this.#segments === 0 || bytes === undefined || sums.get('found') > 0) return;
    sums.add('found');
    if (!this.#sound.has(digestOf(host, bytes)) || !this.#isOfStore(host, bytes)) sums.add('rejected');
    else if (positionOf(bytes) <= (this.#exchanges.shadow(host)?.seqSeen ?? 0)) sums.add('loaded');
  }

  #isOfStore(host: string, bytes: Buffer): boolean {
    const storeId = this.#exchanges.shadow(host)?.storeId;
    return storeId === undefined || bytes.toString('hex', 20, nameAt) === storeId;
  }

  #placeOf({ fields }: TraceEvent): string {
    const peer = this.#nodes.get(String(fields['peer']));
    return peer === undefined ? '' : placeOf(peer);
  }

  #bookOf(node: string): Book {
    const name = `${node}/${this.#cluster.host(node).lives}`;
    const known = this.#books.get(name);
    if (known !== undefined) return known;
    const book: Book = {
      sums: new Tallies(),
      underWay: 0,
      sweptSeconds: new Map(),
      freshUs: -1,
      sweptUs: -1,
      begun: false,
    };
    this.#books.set(name, book);
    return book;
  }
}

function placeOf({ datacenter, rack }: PlanNode): string {
  return `${datacenter}/${rack}`;
}

function digestOf(host: string, bytes: Buffer): string {
  return `${host} ${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The store's position that a whole snapshot names: behind the node's name, which has a length of one byte here. */
function positionOf(bytes: Buffer): number {
  const at = nameAt + 1 + (bytes[nameAt] ?? 0);
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4);
}
