/**
 * Whether what this node has carried out under clients' names is known by so many owners of its keys that whoever leads
 * these keys next hears of it (lookup.ts). The batch itself tells them; those that it has not reached are told again. When
 * keys have got another primary, this node says that it knows (cluster/view/ring-view-publisher.ts) only once their owners know the
 * names: they are told at once then, since batches that were on their way wait for just that word. Nobody is waited for who
 * cannot be reached.
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
  /** Other nodes that keep the name. */
  readonly holders: Set<NodeId>;
  /** The batch is on its way. */
  spreading: boolean;
  telling: boolean;
}

/** Names that are told again at one tick, at most. */
const toldCountMax = 256;

export class KeyReplication implements NameFollower {
  readonly #io: Pick<Io, 'spawn'>;
  readonly #parts: RoundDependencies;
  readonly #carried = new Map<string, Carried>();
  #settled: () => void = () => undefined;

  constructor(io: Pick<Io, 'spawn'>, parts: RoundDependencies) {
    this.#io = io;
    this.#parts = parts;
  }

  /** Calls `settled` when enough of a name's owners know it, and now and then while some do not. */
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

  /** Those, of keys that are another node's, that others have to hear of first; begins to tell them. */
  astray(isLed: (token: Token) => boolean): readonly Xid[] {
    const xids: Xid[] = [];
    for (const carried of this.#carried.values()) {
      if (carried.named.tokens.every(isLed) || !this.#tellSoon(carried)) continue;
      xids.push(carried.named.xid);
    }
    return xids;
  }

  /** What was carried out here, and is not known to most owners near here. */
  get unsafe(): readonly NamedRecord[] {
    return [...this.#carried.values()].map(({ named }) => named);
  }

  /** Too few owners may know it: this node alone could tell of it after a crash. */
  isUnsafe(clientId: string): boolean {
    const carried = this.#carried.get(clientId);
    return carried?.named.tokens.some((token) => !this.#isKnownNear(carried, token)) ?? false;
  }

  /** The name is forgotten. */
  forget(clientId: string): void {
    this.#carried.delete(clientId);
  }

  tick(): void {
    // Somebody who could be told may be away now.
    if (this.#carried.size > 0) this.#settled();
    let count = 0;
    for (const carried of this.#carried.values()) {
      if (carried.spreading || carried.telling || !this.#tellSoon(carried)) continue;
      count += 1;
      if (count === toldCountMax) return;
    }
  }

  /** Tells those who do not know it; false: there is nobody to be told. */
  #tellSoon(carried: Carried): boolean {
    const members = this.#ignorant(carried);
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
        // A node of before keeps no names of others.
        const isOlder = reply.kind === 'noAnswer' && reply.code === 'BadRequest';
        if (reply.kind === 'told' || isOlder) carried.holders.add(node);
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

  /** Most owners near here keep it, and all that are about to become owners. */
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

  /** Owners that do not know it and can be told; none when enough know it. */
  #ignorant(carried: Carried): readonly Member[] {
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

/** The token's owners in this node's datacenter; all of them where it has none there. */
export function nearOwners(
  { ring, self }: Pick<RoundDependencies, 'ring' | 'self'>,
  token: Token,
): readonly Member[] {
  const placement = ring().placement(token);
  const near = placement.filter(({ datacenter }) => datacenter === self.datacenter);
  return near.length > 0 ? near : placement;
}
