/**
 * Sees that enough owners know each idempotency key that this node has applied, so that the next primary of the objects
 * hears of it (lookup.ts). The batch itself carries the key to the owners; owners that it has not reached are told
 * again.
 *
 * When objects have a new primary, this node publishes its new ring view (cluster/view/ring-view-publisher.ts) only
 * once the owners know the keys. It tells them at once then, since batches under way wait for that ring view. It does
 * not wait for unreachable owners.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { BatchRound } from '../../replication/batch-round.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Io } from '../../io/io.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import type { NameFollower } from '../context.ts';
import { askNode } from '../context.ts';
import type { Xid } from '../formats/xid.ts';

interface Carried {
  readonly named: NamedRecord;
  /** Other nodes that keep the idempotency record. */
  readonly holders: Set<NodeId>;
  /** The batch is under way to the other replicas. */
  spreading: boolean;
  telling: boolean;
}

/** The most keys whose owners are told again at one tick, whatever the configuration allows. */
const toldCountMax = 256;

/** The idempotency keys that this node has applied and that too few owners may know. */
export class KeyReplication implements NameFollower {
  readonly #io: Pick<Io, 'spawn'>;
  readonly #parts: RoundDependencies;
  readonly #toldCountMax: number;
  readonly #carried = new Map<string, Carried>();
  #settled: () => void = () => undefined;

  /** `pageItems`: the most keys whose owners are told again at one tick. */
  constructor(io: Pick<Io, 'spawn'>, parts: RoundDependencies, pageItems: number) {
    this.#io = io;
    this.#parts = parts;
    this.#toldCountMax = Math.min(toldCountMax, pageItems);
  }

  /** Calls `settled` when enough owners know a key, and at ticks while some do not. */
  onSettled(settled: () => void): void {
    this.#settled = settled;
  }

  follow(named: NamedRecord, round: BatchRound): void {
    const carried: Carried = { named, holders: new Set(), spreading: true, telling: false };
    this.#carried.set(named.clientId, carried);
    this.#io.spawn('xa.names.follow', async () => {
      await round.spread;
      for (const node of round.holders) carried.holders.add(node);
      carried.spreading = false;
      this.#told(carried);
    });
  }

  carry(named: NamedRecord): void {
    const carried: Carried = { named, holders: new Set(), spreading: false, telling: false };
    this.#carried.set(named.clientId, carried);
    if (!this.#tellSoon(carried)) this.#told(carried);
  }

  /**
   * Transactions on tokens that another node leads and whose key some reachable owner must still hear. Starts to tell
   * those owners.
   */
  astray(isLed: (token: Token) => boolean): readonly Xid[] {
    const xids: Xid[] = [];
    for (const carried of this.#carried.values()) {
      if (carried.named.tokens.every(isLed) || !this.#tellSoon(carried)) continue;
      xids.push(carried.named.xid);
    }
    return xids;
  }

  /** Records of applied transactions that a majority of owners may not know. */
  get unsafe(): readonly NamedRecord[] {
    return [...this.#carried.values()].map(({ named }) => named);
  }

  /**
   * True while a majority of some token's owners may not know the key: after a crash only this node could report it.
   */
  isUnsafe(clientId: string): boolean {
    const carried = this.#carried.get(clientId);
    return carried?.named.tokens.some((token) => !this.#isKnownNear(carried, token)) ?? false;
  }

  /** Drops the key, whose record is dropped. */
  forget(clientId: string): void {
    this.#carried.delete(clientId);
  }

  /** Tells the owners again that lack a key. */
  tick(): void {
    // An owner that lacked a key may be unreachable now, so it is no longer waited for.
    if (this.#carried.size > 0) this.#settled();
    let count = 0;
    for (const carried of this.#carried.values()) {
      if (carried.spreading || carried.telling || !this.#tellSoon(carried)) continue;
      count += 1;
      if (count === this.#toldCountMax) return;
    }
  }

  /** Tells every reachable owner that lacks the key. Returns false if there is none. */
  #tellSoon(carried: Carried): boolean {
    const members = this.#lacking(carried);
    if (members.length === 0) return false;
    if (!carried.telling) this.#io.spawn('xa.names.tell', () => this.#tell(carried, members));
    carried.telling = true;
    return true;
  }

  async #tell(carried: Carried, members: readonly Member[]): Promise<void> {
    const request = { kind: 'learn', names: [carried.named] } as const;
    const timeoutUs = this.#parts.settings.timeoutMs * 1000;
    await Promise.all(
      members.map(async ({ node }) => {
        const reply = await askNode({ parts: this.#parts }, node, request, timeoutUs);
        if (reply.kind === 'told') carried.holders.add(node);
      }),
    );
    carried.telling = false;
    this.#told(carried);
  }

  #told(carried: Carried): void {
    if (!carried.named.tokens.every((token) => this.#isKnown(carried, token))) return;
    const { clientId } = carried.named;
    if (this.#carried.get(clientId) === carried) this.#carried.delete(clientId);
    this.#settled();
  }

  /** True if a majority of the owners in this datacenter keeps the record, and every pending owner does. */
  #isKnown(carried: Carried, token: Token): boolean {
    const pending = this.#parts.pending(token);
    return this.#isKnownNear(carried, token) && pending.every((member) => this.#knows(carried, member));
  }

  #isKnownNear(carried: Carried, token: Token): boolean {
    const near = nearOwners(this.#parts, token);
    return near.filter((member) => this.#knows(carried, member)).length * 2 > near.length;
  }

  #knows({ holders }: Carried, { node }: Member): boolean {
    return node === this.#parts.self.node || holders.has(node);
  }

  /** Reachable owners that do not keep the record; none if enough do. */
  #lacking(carried: Carried): readonly Member[] {
    const { ring, pending, view } = this.#parts;
    const members = new Set<Member>();
    for (const token of carried.named.tokens) {
      if (this.#isKnown(carried, token)) continue;
      for (const member of [...ring().placement(token), ...pending(token)])
        if (!this.#knows(carried, member) && view.isRoutable(member)) members.add(member);
    }
    return [...members];
  }
}

/** The token's owners in this node's datacenter; all owners if it has none there. */
export function nearOwners(
  { ring, self }: Pick<RoundDependencies, 'ring' | 'self'>,
  token: Token,
): readonly Member[] {
  const placement = ring().placement(token);
  const near = placement.filter(({ datacenter }) => datacenter === self.datacenter);
  return near.length > 0 ? near : placement;
}
