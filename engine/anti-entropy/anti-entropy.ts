/**
 * Active anti-entropy of one node: its hash tree, the exchanges that it begins and those that it answers, and the
 * snapshot that saves a restart from reading every value again.
 *
 * Membership says which nodes are peers, and the ring where keys live. Both may change while an exchange runs.
 */
import { present } from '../base/assert.ts';
import { BytesError } from '../base/bytes.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { ConflictRules } from '../replica/replica.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import { DiskError } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import type { Ring } from '../cluster/ring/ring.ts';
import type { AntiEntropyMetrics } from '../metrics/anti-entropy-metrics.ts';
import type { Store } from '../storage/store.ts';
import { answerInTask } from '../peer/wire/answer.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import { Answerer } from './answerer.ts';
import type { PeerIdentity } from './exchange-peer.ts';
import { Refresh } from './refresh.ts';
import type { LocalReplica } from './repair.ts';
import { RepairScheduler } from './repair.ts';
import type { PeerRecord, SchedulerOptions } from './scheduler.ts';
import { Scheduler } from './scheduler.ts';
import { ownsTokens, sharedRanges, wholeSegments } from './shared-ranges.ts';
import { dirtyDamaged, loadSnapshotWithMetrics, saveSnapshotWithMetrics } from './snapshot.ts';
import type { SnapshotShape } from './snapshot-file.ts';
import { Throttle } from './throttle.ts';
import type { TokenRange } from './tree.ts';
import { wholeRing } from './tree.ts';
import { decodeQuestion, encodeAnswer } from './messages.ts';

/** Options of anti-entropy, from the configuration. */
export interface AntiEntropyOptions extends SchedulerOptions {
  /** The tree has 2^segmentBits leaves. */
  readonly segmentBits: number;
  /** Limit of the keys read or sent per second; 0: no limit. */
  readonly keysPerSecond: number;
  /** Approximate limit of the bytes of keys in one answer to a peer. */
  readonly listBytesMax: number;
  /** Least interval between two snapshots. */
  readonly snapshotUs: number;
}

/** What anti-entropy needs of the node. */
export interface AntiEntropyDependencies {
  readonly io: Pick<Io, 'clock' | 'random' | 'log' | 'spawn' | 'disk' | 'checks'>;
  readonly self: NodeId;
  readonly store: Store;
  readonly replica: LocalReplica;
  readonly rules: (key: PackedKey) => ConflictRules;
  /** Whether the key's bucket was flushed since, so that its object is gone. */
  readonly isFormer: (key: PackedKey) => boolean;
  readonly links: PeerLinks;
  readonly metrics: AntiEntropyMetrics;
  readonly ring: () => Ring;
  readonly peers: () => readonly PeerIdentity[];
  /** Whether the node can be asked and has the same ring view as this node. */
  readonly isThere: (node: NodeId) => boolean;
  /** The node's incarnation number; undefined while the node is unreachable. */
  readonly incarnationOf: (node: NodeId) => number | undefined;
}

/** The state of anti-entropy with one peer, for operators. */
export interface PeerStatus extends PeerRecord {
  readonly peer: PeerIdentity;
  readonly sharedSegments: number;
  readonly dirtySegments: number;
}

/** The state of anti-entropy, for operators. */
export interface AntiEntropyStatus {
  readonly segments: number;
  readonly dirtySegments: number;
  readonly treeBytes: number;
  readonly sweeping: boolean;
  readonly peers: readonly PeerStatus[];
}

/** The parts that exist once the tree is loaded. */
interface Working {
  readonly refresh: Refresh;
  readonly answerer: Answerer;
  readonly scheduler: Scheduler;
}

const nothing: readonly TokenRange[] = [];

const unknownPeer: PeerRecord = {
  lastExchangeMs: 0,
  lastOutcome: 'none',
  lastDetail: '',
  lastSweepMs: 0,
  divergentKeys: 0,
};

/** Anti-entropy of one node. `start` must have resolved before `status` is called. */
export class AntiEntropy {
  readonly #parts: AntiEntropyDependencies;
  readonly #options: AntiEntropyOptions;
  readonly #throttle: Throttle;
  readonly #shape: SnapshotShape;
  #working: Working | undefined;
  #sharedOf: { readonly ring: Ring; readonly byPeer: ReturnType<typeof sharedRanges> } | undefined;
  /** The node has read its own records, and heard of the other members or waited for that. */
  #isAcquainted = false;
  #savedPosition = -1;
  #savedUs = 0;
  /** The peers, by index, whose dirty segments the last publication stated. */
  readonly #measured = new Set<number>();

  constructor(parts: AntiEntropyDependencies, options: AntiEntropyOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#throttle = new Throttle(parts.io.clock, options.keysPerSecond);
    const { self, store } = parts;
    this.#shape = { segmentBits: options.segmentBits, node: byteStringOf(self), storeId: store.storeId };
  }

  /** Loads the tree and starts the ticks. The node calls it before anything is written. */
  async start(): Promise<void> {
    const { io, self, store, metrics, incarnationOf } = this.#parts;
    const tree = await loadSnapshotWithMetrics(io, this.#shape, store, metrics);
    const refresh = new Refresh(tree, store, this.#throttle, this.#parts.isFormer);
    refresh.onWrongLeaf((segment) => {
      metrics.leafRefuted();
      io.log.event('error', 'aae.leaf.refuted', { segment });
    });
    const { listBytesMax } = this.#options;
    const answerer = new Answerer(self, io.clock, refresh, { incarnationOf, listBytesMax });
    const scheduler = this.#makeScheduler(refresh, answerer);
    scheduler.installMetrics(metrics);
    metrics.beforeCollect(() => this.#measure(refresh));
    this.#working = { refresh, answerer, scheduler };
    this.#savedUs = io.clock.nowUs();
    scheduler.start();
    // Damaged keys can be fetched from other replicas: sweep at once rather than at the next interval.
    if (store.damages.length > 0) scheduler.sweep();
  }

  /** Begins no more exchanges. Questions under way are still answered. */
  stop(): void {
    this.#working?.scheduler.stop();
  }

  /**
   * Called after `stop` and after the peer layer has stopped. Gives up a recomputation that is under way. Resolves when
   * nothing is under way and the tree is saved.
   */
  async close(): Promise<void> {
    if (this.#working === undefined) return;
    const { scheduler, refresh } = this.#working;
    scheduler.stop();
    this.#throttle.stop();
    await scheduler.settled();
    await refresh.idle();
    await this.#save(refresh);
  }

  /** Answers a peer's message, once. */
  answer(from: NodeId, words: Uint8Array, reply: (reply: PeerReply) => void): void {
    const working = this.#working;
    if (working === undefined) {
      reply({ kind: 'antiEntropyAnswered', words: encodeAnswer({ kind: 'busy' }) });
      return;
    }
    try {
      const question = decodeQuestion(words);
      answerInTask(this.#parts.io, 'aae.answer', reply, async () => {
        const answer = await working.answerer.answer(from, question);
        return { kind: 'antiEntropyAnswered', words: encodeAnswer(answer) };
      });
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply(failed(new LockstepError('BadRequest', `words of anti-entropy: ${error.message}`)));
    }
  }

  /** The node has read its own records, and heard of the other members or waited for that: sweeps may end now. */
  acquainted(): void {
    this.#isAcquainted = true;
  }

  /** Starts a full sweep; false if one is under way already. */
  sweep(): boolean {
    return this.#working?.scheduler.sweep() ?? false;
  }

  /** The present state, for operators. */
  status(): AntiEntropyStatus {
    const { refresh, scheduler } = present(this.#working, 'a started anti-entropy');
    const { tree } = refresh;
    const segmentsIn = ({ first, last }: TokenRange): number =>
      tree.segmentOf(last) - tree.segmentOf(first) + 1;
    const peers = this.#parts.peers().map((peer) => {
      const shared = wholeSegments(tree, this.#shared(peer.node));
      const sharedSegments = shared.reduce((sum, range) => sum + segmentsIn(range), 0);
      const dirtySegments = shared.reduce((sum, range) => sum + tree.dirtyCountIn(range), 0);
      return { ...(scheduler.record(peer.node) ?? unknownPeer), peer, sharedSegments, dirtySegments };
    });
    return {
      segments: tree.segmentCount,
      dirtySegments: tree.dirtyCount,
      treeBytes: tree.bytes,
      sweeping: scheduler.sweeping,
      peers,
    };
  }

  #makeScheduler(refresh: Refresh, answerer: Answerer): Scheduler {
    const { io, self, links, replica, rules, metrics, isThere } = this.#parts;
    return new Scheduler(
      {
        io,
        links,
        refresh,
        answerer,
        throttle: this.#throttle,
        repairs: ({ datacenter, rack }) =>
          new RepairScheduler(replica, rules, io.log).withMetrics(metrics, datacenter, rack),
        peers: () => this.#sharing().filter(({ node }) => isThere(node)),
        sharing: () => this.#sharing(),
        mayEnd: () => this.#isAcquainted && ownsTokens(this.#parts.ring(), self),
        shared: (peer) => this.#shared(peer),
        swept: () => this.#settleDamage(refresh),
        ticked: () => this.#saveInTime(refresh),
      },
      this.#options,
    );
  }

  /**
   * A full sweep has compared every key: reads need not doubt lost records any more. Their leaves are dirty from now
   * on, since they left those keys out.
   */
  #settleDamage({ tree }: Refresh): void {
    const { store } = this.#parts;
    dirtyDamaged(tree, store.damages);
    store.settleDamage();
  }

  /** The peers with which this node shares replicas. */
  #sharing(): readonly PeerIdentity[] {
    return this.#parts.peers().filter(({ node }) => this.#shared(node).length > 0);
  }

  #shared(peer: NodeId): readonly TokenRange[] {
    const ring = this.#parts.ring();
    if (this.#sharedOf?.ring !== ring) {
      this.#sharedOf = { ring, byPeer: sharedRanges(ring, this.#parts.self) };
    }
    return this.#sharedOf.byPeer.get(peer) ?? nothing;
  }

  #measure({ tree }: Refresh): void {
    const isClean = tree.dirtyCountIn(wholeRing) === 0;
    const gone = new Set(this.#measured);
    for (const { node, index } of this.#parts.peers()) {
      const shared = isClean ? nothing : wholeSegments(tree, this.#shared(node));
      const dirty = shared.reduce((sum, range) => sum + tree.dirtyCountIn(range), 0);
      this.#parts.metrics.setDirtySegments(index, dirty);
      gone.delete(index);
      this.#measured.add(index);
    }
    // A node shares nothing with a peer that has left.
    for (const index of gone) {
      this.#parts.metrics.setDirtySegments(index, 0);
      this.#measured.delete(index);
    }
  }

  async #saveInTime(refresh: Refresh): Promise<void> {
    const { io } = this.#parts;
    if (io.clock.nowUs() - this.#savedUs < this.#options.snapshotUs) return;
    await this.#save(refresh);
  }

  /** Saves the tree. A snapshot that cannot be written only makes the next start slower. */
  async #save({ tree }: Refresh): Promise<void> {
    const { io, store, metrics } = this.#parts;
    const position = store.fingerprints.lastSeq;
    if (position === this.#savedPosition || store.state === 'closed') return;
    try {
      await saveSnapshotWithMetrics(io, tree, this.#shape, position, metrics);
      this.#savedPosition = tree.dirtyCount === 0 ? position : -1;
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      io.log.event('error', 'aae.snapshot.failed', { detail: error.message });
    }
    this.#savedUs = io.clock.nowUs();
  }
}

function failed(error: LockstepError): PeerReply {
  return { kind: 'failed', code: error.code, detail: error.message };
}
