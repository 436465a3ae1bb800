/**
 * Answers the questions of peers that began an exchange with this node, and records which exchange the node is in. A
 * node takes part in one exchange at a time, so that a divergent key is found, counted and repaired by one pair of
 * nodes. If two nodes begin an exchange with each other at the same instant, the one with the lower name continues.
 *
 * If the disk refuses to read some values, their segments are answered as different, and only their lists are refused.
 */
import type { NodeId } from '../base/ids.ts';
import type { Clock, Timer } from '../io/clock.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { sometimes } from '../base/sometimes.ts';
import { ListedRange } from './listed-range.ts';
import type { Refresh } from './refresh.ts';
import { divide } from './tree.ts';
import type { RangeHash, TokenRange } from './tree.ts';
import type { Answer, KeyList, ListRange, Question } from './messages.ts';

const entryBytes = 16;
/**
 * An exchange that a peer began ends when nothing is heard of it for this long; at once if the peer is unreachable or has
 * started again.
 */
const leaseUs = 10_000_000;
/** How long an answer may wait for the tree to be recomputed. Then it is `busy`, and the recomputation continues. */
const patienceUs = 2_000_000;

interface Engagement {
  readonly peer: NodeId;
  readonly begunHere: boolean;
  /** The peer's incarnation number when it was last heard; undefined if it counted as unreachable. */
  readonly incarnation: number | undefined;
  /** End of the lease; only for exchanges that the peer began. */
  untilUs: number;
}

/** What an answerer can do without. */
export interface AnswererOptions {
  /**
   * A peer's incarnation number; undefined while the peer is unreachable. Without it the exchange of a peer that is gone
   * ends with its lease.
   */
  readonly incarnationOf?: (peer: NodeId) => number | undefined;
  /** Approximate limit of the bytes of keys in one answer; 512 KiB if absent. */
  readonly listBytesMax?: number;
}

/** The answering side of one node's exchanges. */
export class Answerer {
  readonly #self: NodeId;
  readonly #clock: Clock;
  readonly #refresh: Refresh;
  readonly #incarnationOf: (peer: NodeId) => number | undefined;
  readonly #listBytesMax: number;
  /** What the peer of the present exchange lists. */
  readonly #listed: ListedRange;
  #engagement: Engagement | undefined;

  constructor(
    self: NodeId,
    clock: Clock,
    refresh: Refresh,
    { incarnationOf = () => 0, listBytesMax = 512 * 1024 }: AnswererOptions = {},
  ) {
    this.#incarnationOf = incarnationOf;
    this.#self = self;
    this.#clock = clock;
    this.#refresh = refresh;
    this.#listBytesMax = listBytesMax;
    this.#listed = new ListedRange(refresh);
  }

  /** Claims this node for an exchange with the peer; false if it is in another one. */
  begin(peer: NodeId): boolean {
    if (this.#current() !== undefined) return false;
    this.#engagement = { peer, begunHere: true, incarnation: undefined, untilUs: 0 };
    return true;
  }

  /** Ends the exchange that this node began with the peer. */
  end(peer: NodeId): void {
    const { begunHere, peer: other } = this.#engagement ?? {};
    if (begunHere === true && other === peer) this.#engagement = undefined;
  }

  /**
   * Answers one question. Rejects with the local store's error: with `StorageFailed` only if the disk refuses to read the
   * first range of a `list`.
   */
  async answer(from: NodeId, question: Question): Promise<Answer> {
    if (question.kind === 'close') {
      if (this.#engagement?.peer === from && !this.#engagement.begunHere) {
        this.#engagement = undefined;
        this.#listed.drop();
      }
      return { kind: 'closed' };
    }
    if (!this.#engage(from)) return { kind: 'busy' };
    const isList = question.kind === 'list';
    if (!isList) this.#listed.drop();
    const toSettle = isList
      ? question.ranges.filter((range) => !this.#listed.continues(range))
      : question.ranges;
    const settled = await this.#settle(toSettle);
    if (settled === 'late') return { kind: 'busy' };
    if (question.kind === 'list') return { kind: 'lists', lists: await this.#lists(question.ranges) };
    const { ranges, segmentBits } = question;
    const parts = question.kind === 'hashes' ? ranges : ranges.flatMap((range) => divide(range, segmentBits));
    return { kind: 'hashes', hashes: parts.map((part) => this.#hashOf(part, settled)) };
  }

  #current(): Engagement | undefined {
    const current = this.#engagement;
    if (current === undefined || current.begunHere) return current;
    const isInTime = current.untilUs > this.#clock.nowUs();
    if (isInTime && this.#incarnationOf(current.peer) === current.incarnation) return current;
    if (isInTime) sometimes('anti-entropy.exchange-orphaned');
    this.#listed.drop();
    return undefined;
  }

  #engage(from: NodeId): boolean {
    const current = this.#current();
    if (current !== undefined && current.peer !== from) return false;
    if (current?.begunHere === true && this.#self < from) return false;
    const untilUs = this.#clock.nowUs() + leaseUs;
    this.#engagement = { peer: from, begunHere: false, incarnation: this.#incarnationOf(from), untilUs };
    return true;
  }

  /** The hash of a range. A range in which the disk refuses values is answered so that it differs. */
  #hashOf(range: TokenRange, settled: 'whole' | 'refused'): RangeHash {
    const hash = this.#refresh.hashOf(range);
    if (settled === 'whole' || this.#refresh.tree.dirtyCountIn(range) === 0) return hash;
    return { high: (hash.high + 1) >>> 0, low: hash.low };
  }

  /**
   * Recomputes the ranges. `refused`: the disk refuses some values, whose segments are dirty; `late`: it takes longer than
   * `patienceUs`.
   */
  async #settle(ranges: readonly TokenRange[]): Promise<'whole' | 'refused' | 'late'> {
    const done = new Deferred<'late'>();
    const timer: Timer = this.#clock.after(patienceUs, () => done.resolve('late'));
    const settled = this.#refresh.settle(ranges).then(
      () => 'whole' as const,
      (error: unknown) => {
        if (!isReadRefused(error)) throw error;
        return 'refused' as const;
      },
    );
    try {
      return await Promise.race([settled, done.promise]);
    } finally {
      timer.cancel();
    }
  }

  async #lists(ranges: readonly ListRange[]): Promise<readonly KeyList[]> {
    const lists: KeyList[] = [];
    let bytes = 0;
    for (const range of ranges) {
      if (bytes >= this.#listBytesMax) break;
      const list = await this.#listUnlessRefused(range, this.#listBytesMax - bytes, lists.length === 0);
      if (list === undefined) break;
      for (const entry of list.entries) bytes += entry.key.length + entryBytes;
      lists.push(list);
    }
    return lists;
  }

  /** Undefined if the disk refuses to read the range; for the first one, throws that. */
  async #listUnlessRefused(
    range: ListRange,
    bytesMax: number,
    isFirst: boolean,
  ): Promise<KeyList | undefined> {
    try {
      return await this.#list(range, bytesMax);
    } catch (error) {
      if (isFirst || !isReadRefused(error)) throw error;
      return undefined;
    }
  }

  async #list(range: ListRange, bytesMax: number): Promise<KeyList> {
    const entries = await this.#listed.entriesOf(range);
    let bytes = 0;
    let count = 0;
    for (const entry of entries) {
      if (bytes >= bytesMax) break;
      bytes += entry.key.length + entryBytes;
      count += 1;
    }
    if (count < entries.length) sometimes('anti-entropy.list-cut');
    return { complete: count === entries.length, entries: entries.slice(0, count) };
  }
}

function isReadRefused(error: unknown): boolean {
  return error instanceof LockstepError && error.code === 'StorageFailed';
}
