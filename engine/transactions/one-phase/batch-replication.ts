/**
 * Whether what this node has carried out is at whoever leads its keys next. While owners change, a batch goes to those who
 * are about to become owners, too. One of them may refuse it, since it waits for a second at most for a node that sees the
 * ring otherwise, or may never get it; hints and comparisons bring it later, and too late: who leads a key without it
 * writes beside it what should come after it.
 *
 * So when keys have got another primary, this node says that it knows (cluster/view/ring-view-publisher.ts) only once that one has
 * said that it has the batch. It is told at once then, by words that nobody's view of the ring holds up, since the batch
 * may wait there for just what this node does not say yet. Who cannot be reached is not waited for, and told when it is
 * there again, before it hears that the key is its own.
 */
import { BytesError } from '../../base/bytes.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
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
  /** Other nodes that have it. */
  readonly holders: Set<NodeId>;
  /** The batch is on its way. */
  spreading: boolean;
  telling: boolean;
}

/** So many, and so much, are kept for those who cannot be reached; the oldest go first. */
const keptCountMax = 10_000;
const keptBytesMax = 16 * 1024 * 1024;
/** So many are told at a time. */
const toldCountMax = 256;

/** What of a round is followed. */
type Followed = Parameters<BatchFollower['follow']>[1];

type Parts = Asker['parts'] &
  Pick<RoundDependencies, 'self' | 'settings' | 'ring' | 'pending'> & {
    readonly view: Pick<RoundDependencies['view'], 'isRoutable'>;
  };

export class BatchReplication implements BatchFollower {
  readonly #io: Pick<Io, 'log' | 'spawn'>;
  readonly #parts: Parts;
  /** Oldest first. */
  readonly #carried = new Set<Carried>();
  /** Of those whose batch is not on its way any more. */
  #keptCount = 0;
  #keptBytes = 0;
  #settled: () => void = () => undefined;

  constructor(io: Pick<Io, 'log' | 'spawn'>, parts: Parts) {
    this.#io = io;
    this.#parts = parts;
  }

  /** Calls `settled` when a batch is where it has to be, and now and then while one is not. */
  onSettled(settled: () => void): void {
    this.#settled = settled;
  }

  follow(xid: Xid, round: Followed): void {
    if (round.isCalm) return;
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

  /** Those, of keys that are another node's, that others have to get first, the oldest of them; begins to tell them. */
  astray(isLed: (token: Token) => boolean): readonly Xid[] {
    const xids: Xid[] = [];
    for (const carried of this.#carried) {
      if (carried.items.every(({ token }) => isLed(token)) || !this.#tellSoon(carried)) continue;
      if (xids.push(carried.xid) === toldCountMax) break;
    }
    return xids;
  }

  /** Somebody who could be told may be away now, or there again. */
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

  /** Whether it was kept. */
  #drop(carried: Carried): boolean {
    if (!this.#carried.delete(carried)) return false;
    this.#keptCount -= 1;
    this.#keptBytes -= carried.bytes;
    return true;
  }

  /** Tells those who lack it and can be reached; false: there is nobody. */
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
        // A node of before does not know these words: what it lacks comes as it came then.
        const isOlder = reply.kind === 'noAnswer' && reply.code === 'BadRequest';
        if (reply.kind === 'told' || isOlder) carried.holders.add(member.node);
      }),
    );
    carried.telling = false;
    this.#judge(carried);
  }

  #judge(carried: Carried): void {
    if (carried.spreading || carried.telling || this.#lacking(carried).length > 0) return;
    if (this.#drop(carried)) this.#settled();
  }

  /** Whoever leads one of the keys next, and lacks it. */
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

  /** The primary, and those who are about to become owners. */
  #next(token: Token): readonly Member[] {
    const { ring, pending } = this.#parts;
    return [...ring().placement(token).slice(0, 1), ...pending(token)];
  }
}

/** Takes what another node has carried out on keys that this one leads next. Rejects with why it could not. */
export async function adopt(
  { parts }: Pick<TransactionContext, 'parts'>,
  batch: Uint8Array,
): Promise<BranchReply> {
  const done = new Deferred<LockstepError | undefined>();
  parts.replica.mergeAll(itemsOf(batch), (error) => done.resolve(error));
  const error = await done.promise;
  if (error !== undefined) throw error;
  return { kind: 'told', state: 'none' };
}

function itemsOf(batch: Uint8Array): readonly IncomingObject[] {
  try {
    return decodeBatch(batch);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError('BadRequest', `a batch that does not decode: ${error.message}`);
  }
}
