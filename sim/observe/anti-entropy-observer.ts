/**
 * What a life's anti-entropy did, for the ledger (`metrics-reconcile`): exchanges and what came of them, trees saved,
 * and which snapshot the life found on its disk. A snapshot is sound when its bytes are those that the same node once
 * wrote as a whole; what the life makes of any other one is a rejection.
 */
import { createHash } from 'node:crypto';

import { snapshotPath } from '../../engine/anti-entropy/snapshot.ts';
import type { AntiEntropyTruth, PeerExchanges } from '../check/reconcile/account.ts';
import type { PlanNode } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';
import type { ExchangeObserver } from './exchange-observer.ts';
import { Tallies } from './tallies.ts';

/** Writes become visible so long after they were written, at most. */
const slackUs = 2_000_000;
const beside = `${snapshotPath}.new`;
/** Store id and, behind the node's name, the store's position (engine/anti-entropy/snapshot-file.ts). */
const nameAt = 36;

interface Book {
  readonly sums: Tallies;
  /** Peers that an exchange is under way with. */
  underWay: number;
  readonly sweptSeconds: Map<string, number>;
  /** When the tree was last certainly brought up to date: the beginning of a finished exchange, of either side's. */
  freshUs: number;
  /** Something has begun to bring it up to date in this life. */
  begun: boolean;
}

export class AntiEntropyObserver {
  readonly #cluster: Cluster;
  readonly #nodes: ReadonlyMap<string, PlanNode>;
  readonly #exchanges: ExchangeObserver;
  /** Segments of the nodes' trees; 0 where anti-entropy is off. */
  readonly #segments: number;
  readonly #books = new Map<string, Book>();
  /** Digests of every snapshot that a node wrote, and of those that a fault wrote in its place under a sound checksum. */
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
    // A sweep has everything derived again; from then on only an exchange says that all of it was.
    on('aae.sweep.began', (book) => {
      book.begun = true;
      book.freshUs = -1;
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

  /** A fault has put these bytes in the place of a node's snapshot, with a sound checksum and one leaf altered. */
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
   * Known exactly while nothing has been derived yet in a life that began without a snapshot (all is dirty), and when an
   * exchange has finished that began after the node's last write (nothing is). Only where every node holds everything.
   */
  #dirtyOf(node: string): readonly [number, number] {
    const book = this.#bookOf(node);
    const shadow = this.#exchanges.shadow(node);
    const racks = new Set([...this.#nodes.values()].map(placeOf));
    if (racks.size < this.#nodes.size || shadow === undefined || this.#segments === 0)
      return [0, this.#segments];
    if (!book.begun && book.sums.get('loaded') === 0) return [this.#segments, this.#segments];
    // A leaf that is found wrong is dirty until the next exchange.
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
    this.#bookOf(event.host).freshUs = beganUs;
    if (this.#nodes.has(peer) && !this.#hasDouble(peer)) this.#bookOf(peer).freshUs = beganUs;
  }

  /** Another process has its name: whom others compare with under it may be that one. */
  #hasDouble(node: string): boolean {
    const { impositions } = this.#cluster.impostors;
    return impositions.some(({ victim, claim }) => victim === node && claim === 'sameName');
  }

  /** What lies on the disk when the life begins decides what it must make of it. */
  #find({ sums }: Book, host: string): void {
    const bytes = this.#cluster.host(host).disk.durableFiles().get(snapshotPath);
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
