/**
 * Sees that the next primary of a key has every batch that this node has applied to it.
 *
 * While owners change, a batch also goes to the pending owners. One of them may refuse it, since it waits at most a
 * second for a node with another ring view; or may never get it. Hints and anti-entropy bring the batch later, which is
 * too late: a primary without the batch would write a sibling of what its write should follow.
 *
 * So when keys have a new primary, this node publishes its new ring view (cluster/view/ring-view-publisher.ts) only
 * once the primary has said that it has the batch. It sends the batch at once then, in a message that no ring view
 * holds up. The batch itself may wait at the new primary for the very ring view that this node has not published. It
 * does not wait for an unreachable primary. That one gets the batch when it is reachable again, before it hears that it
 * leads the key.
 */
import { mustDecode } from '../../base/decoding.ts';
import { Deferred } from '../../base/deferred.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import { decodeBatch, encodeBatch } from '../../replication/batch-codec.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { IncomingObject } from '../../replica/replica.ts';
import type { Io } from '../../io/io.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import type { Asker, BatchFollower, TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { BranchReply } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

interface Carried {
  readonly xid: Xid;
  readonly items: readonly IncomingObject[];
  readonly bytes: number;
  /** Other nodes that have the batch. */
  readonly holders: Set<NodeId>;
  /** The batch is under way to the replicas. */
  spreading: boolean;
  telling: boolean;
}

/** How many batches, and how many bytes, are kept for unreachable nodes; the oldest are dropped first. */
const keptCountMax = 10_000;
const keptBytesMax = 16 * 1024 * 1024;
/** The most batches that one ring change sends at a time, whatever the configuration allows. */
const toldCountMax = 256;

/** The part of a round that is followed. */
type Followed = Parameters<BatchFollower['follow']>[1];

type Parts = Asker['parts'] &
  Pick<RoundDependencies, 'self' | 'settings' | 'ring' | 'pending'> & {
    readonly view: Pick<RoundDependencies['view'], 'isRoutable'>;
  };

/** The batches that this node has applied and that a next primary may lack. */
export class BatchReplication implements BatchFollower {
  readonly #io: Pick<Io, 'log' | 'spawn'>;
  readonly #parts: Parts;
  readonly #toldCountMax: number;
  /** Oldest first. */
  readonly #carried = new Set<Carried>();
  /** Of the batches that are no longer under way. */
  #keptCount = 0;
  #keptBytes = 0;
  #settled: () => void = () => undefined;

  /** `pageItems`: the most batches that one ring change sends at a time. */
  constructor(io: Pick<Io, 'log' | 'spawn'>, parts: Parts, pageItems: number) {
    this.#io = io;
    this.#parts = parts;
    this.#toldCountMax = Math.min(toldCountMax, pageItems);
  }

  /** Calls `settled` when the next primaries have a batch, and at ticks while one lacks it. */
  onSettled(settled: () => void): void {
    this.#settled = settled;
  }

  follow(xid: Xid, round: Followed, isRecovered = false): void {
    // While this node was away, a new owner may have become the primary without the batch.
    if (round.isCalm && !isRecovered) return;
    const { items } = round;
    const bytes = items.reduce((sum, item) => sum + item.bytes.length, 0);
    const carried: Carried = { xid, items, bytes, holders: new Set(), spreading: true, telling: false };
    this.#carried.add(carried);
    this.#io.spawn('xa.batches.follow', async () => {
      await round.spread;
      for (const node of round.holders) carried.holders.add(node);
      carried.spreading = false;
      this.#keptCount += 1;
      this.#keptBytes += bytes;
      this.#judge(carried);
      this.#bound();
    });
  }

  /**
   * Transactions on tokens that another node leads and whose batch some reachable next primary lacks; at most the
   * oldest 256. Starts to send them.
   */
  astray(isLed: (token: Token) => boolean): readonly Xid[] {
    const xids: Xid[] = [];
    for (const carried of this.#carried) {
      if (carried.items.every(({ token }) => isLed(token)) || !this.#tellSoon(carried)) continue;
      if (xids.push(carried.xid) === this.#toldCountMax) break;
    }
    return xids;
  }

  /** Judges every batch again: a node that lacks it may be unreachable now, or reachable again. */
  tick(): void {
    if (this.#carried.size === 0) return;
    for (const carried of this.#carried) this.#judge(carried);
    this.#settled();
  }

  #bound(): void {
    for (const carried of this.#carried) {
      if (this.#keptCount <= keptCountMax && this.#keptBytes <= keptBytesMax) return;
      if (carried.spreading || carried.telling) continue;
      this.#drop(carried);
      const detail = 'the next primary of its keys cannot be reached; hints and comparisons bring it there';
      this.#io.log.event('warn', 'xa.batch.untold', { xid: carried.xid, detail });
    }
  }

  /** Stops keeping the batch. False if it was not kept. */
  #drop(carried: Carried): boolean {
    if (!this.#carried.delete(carried)) return false;
    this.#keptCount -= 1;
    this.#keptBytes -= carried.bytes;
    return true;
  }

  /** Sends the batch to every reachable next owner that lacks it. Returns false if there is none. */
  #tellSoon(carried: Carried): boolean {
    const { view } = this.#parts;
    const members = this.#lacking(carried).filter((member) => view.isRoutable(member));
    if (members.length === 0) return false;
    if (!carried.telling) this.#io.spawn('xa.batches.tell', () => this.#tell(carried, members));
    carried.telling = true;
    return true;
  }

  async #tell(carried: Carried, members: readonly Member[]): Promise<void> {
    const { settings } = this.#parts;
    await Promise.all(
      members.map(async (member) => {
        const items = carried.items.filter(({ token }) => this.#isNext(member, token));
        if (items.length === 0) return;
        const request = { kind: 'adopt', batch: encodeBatch(items) } as const;
        const reply = await askNode({ parts: this.#parts }, member.node, request, settings.timeoutMs * 1000);
        if (reply.kind === 'told') carried.holders.add(member.node);
      }),
    );
    carried.telling = false;
    this.#judge(carried);
  }

  #judge(carried: Carried): void {
    if (carried.spreading || carried.telling || this.#lacking(carried).length > 0) return;
    if (this.#drop(carried)) this.#settled();
  }

  /** The next primaries and pending owners that lack the batch. */
  #lacking({ items, holders }: Carried): readonly Member[] {
    const { self } = this.#parts;
    const members = new Set<Member>();
    for (const { token } of items)
      for (const member of this.#next(token))
        if (member.node !== self.node && !holders.has(member.node)) members.add(member);
    return [...members];
  }

  #isNext(member: Member, token: Token): boolean {
    return this.#next(token).some(({ node }) => node === member.node);
  }

  /** The primary and the pending owners of the token. */
  #next(token: Token): readonly Member[] {
    const { ring, pending } = this.#parts;
    return [...ring().placement(token).slice(0, 1), ...pending(token)];
  }
}

/**
 * Applies a batch of another node to keys that this node leads next, without the keys that were flushed since. Rejects
 * with `BadRequest` or the store's error.
 */
export async function adopt(
  { parts }: Pick<TransactionContext, 'parts'>,
  batch: Uint8Array,
): Promise<BranchReply> {
  sometimes('transaction.batch-adopted');
  const done = new Deferred<LockstepError | undefined>();
  const { epochs } = parts.router;
  const all = mustDecode('a batch', () => decodeBatch(batch));
  const items = all.filter(({ key }) => !epochs.isFormer(key));
  if (items.length === 0) return { kind: 'told', state: 'none' };
  parts.replica.mergeAll(items, (error) => done.resolve(error));
  const error = await done.promise;
  if (error !== undefined) throw error;
  return { kind: 'told', state: 'none' };
}
