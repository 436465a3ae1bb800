/**
 * Follows the ranges that ring changes move, and those that a member reads back after it has lost its disk
 * (`transfer-soundness`). When a member has moved its ranges, the new owners of each key hold what all former owners
 * have held since before the move began. When a member has rebuilt its disk, it holds what all other owners have held
 * since before it started, and what a majority of another datacenter has.
 */
import type { Token } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { describeObject } from '../../engine/replica/object/object.ts';
import type { Member } from '../../engine/cluster/ring/ring.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import type { TransferRecords } from '../check/disks/transfers.ts';
import type { BadEvent } from '../check/report.ts';
import type { HeldCopy, ObjectObserver } from './object-observer.ts';
import { nameOf } from './store-dump.ts';

/** The copies on the disks, as the observer of objects knows them. */
type Copies = Pick<ObjectObserver, 'copies' | 'copyAt' | 'flushes' | 'has'>;

/** Judges every move of ranges as it ends. */
export class HandoverObserver {
  readonly #nowUs: () => number;
  readonly #copies: Copies;
  /** Nodes whose disks may forget what they had acknowledged. */
  readonly #forgetful: ReadonlySet<string>;
  /** When each member began to move its ranges. */
  readonly #begunUs = new Map<string, number>();
  /** When each node's present incarnation started. */
  readonly #startedUs = new Map<string, number>();
  /** Nodes whose present incarnation has rebuilt its disk. */
  readonly #rebuilt = new Set<string>();
  /** Nodes whose store takes no writes any more, and since when what they wrote may not be synced. */
  readonly #failed = new Map<string, number>();
  readonly #lost: BadEvent[] = [];
  #compared = 0;
  #skipped = 0;

  constructor(nowUs: () => number, copies: Copies, forgetful: ReadonlySet<string>) {
    this.#nowUs = nowUs;
    this.#copies = copies;
    this.#forgetful = forgetful;
  }

  get records(): TransferRecords {
    return { compared: this.#compared, skipped: this.#skipped, lost: this.#lost };
  }

  /** The member begins to move its ranges. */
  began(member: string): void {
    this.#begunUs.set(member, this.#nowUs());
  }

  /** The member has moved its ranges; `ring` is the one before the change. It leaves if it is in the ring, else it joins. */
  ended(member: Member, ring: Ring): void {
    const begunUs = this.#begunUs.get(member.node);
    if (begunUs === undefined) return;
    const others = ring.members.filter(({ node }) => node !== member.node);
    const leaves = others.length < ring.members.length;
    const next = new Ring(leaves ? others : [...others, member]);
    const seen = new Set<PackedKey>();
    for (const [, key, { token }] of this.#copies.copies()) {
      if (seen.has(key) || this.#copies.flushes.isFlushed(key)) continue;
      seen.add(key);
      const former = ring.placement(token as Token);
      this.#judgeMajority(member, key, former, next.placement(token as Token), begunUs);
      for (const owner of next.placement(token as Token)) {
        if (former.some(({ node }) => node === owner.node)) continue;
        const near = former.filter(({ datacenter }) => datacenter === owner.datacenter);
        this.#judge(key, near, owner.node, begunUs, {
          did: `${member.node} has moved its ranges`,
          forgets: true,
        });
      }
    }
  }

  /**
   * What a majority of the former owners in one datacenter has held throughout, a majority of the next ones there holds:
   * a write that a quorum acknowledged is met by every quorum, though one owner has missed it.
   */
  #judgeMajority(
    { node: changing, datacenter }: Member,
    key: PackedKey,
    former: readonly Member[],
    next: readonly Member[],
    begunUs: number,
  ): void {
    const [before, after] = [former, next].map((owners) =>
      owners.filter((one) => one.datacenter === datacenter),
    );
    if (before === undefined || after === undefined || before.length !== after.length) return;
    if ([...before, ...after].some(({ node }) => this.#forgetful.has(node))) return;
    if (after.every((one) => before.includes(one))) return;
    for (const { node } of before) {
      const copy = this.#servedAt(node, key);
      if (copy === undefined || copy.atUs > begunUs) continue;
      const holders = this.#holdersOf(key, copy, before, begunUs);
      if (holders.length * 2 <= before.length) continue;
      const verdicts = after.map((one) => this.#copies.has(one.node, key, copy.object, true));
      this.#compared += 1;
      if (verdicts.filter((verdict) => verdict === 'all' || verdict === 'unknown').length * 2 > after.length)
        continue;
      const text = `${changing} has moved its ranges, and less than a majority of ${after.map((one) => one.node).join(' ')} holds ${describeObject(copy.object)} of ${nameOf(key)}; ${holders.map((one) => one.node).join(' ')} held it throughout`;
      this.#lost.push({ atUs: this.#nowUs(), text });
      return;
    }
  }

  /**
   * The node's store has failed. What its failed sync was for lies on the disk, but the node serves what it held before.
   * `unsyncedSinceUs`: since when what it wrote may not be synced.
   */
  failed(node: string, unsyncedSinceUs: number): void {
    this.#failed.set(node, unsyncedSinceUs);
  }

  /** What the node can give to others; undefined also where that differs from what lies on its disk. */
  #servedAt(node: string, key: PackedKey): HeldCopy | undefined {
    const copy = this.#copies.copyAt(node, key);
    const sinceUs = this.#failed.get(node);
    return copy === undefined || sinceUs === undefined || copy.atUs <= sinceUs ? copy : undefined;
  }

  /** A node starts: on its disk is what it has found there. */
  started(node: string): void {
    this.#startedUs.set(node, this.#nowUs());
    this.#rebuilt.delete(node);
    this.#failed.delete(node);
  }

  /** The member says that it has read back all that its lost disk may have held; `ring` is the one that it has. */
  rebuilt(member: Member, ring: Ring): void {
    this.#rebuilt.add(member.node);
    this.#judgeRebuilt(member, ring);
    this.#judgeFar(member, ring);
  }

  /** The member has another ring. If it lost its disk amid the change, no other member may give it what it owns now. */
  ringChanged(member: Member, ring: Ring): void {
    if (this.#rebuilt.has(member.node)) this.#judgeRebuilt(member, ring);
  }

  /** What faults took from the disk they took before the member started, so it has nothing to forget. */
  #judgeRebuilt(member: Member, ring: Ring): void {
    const startedUs = this.#startedUs.get(member.node);
    if (startedUs === undefined) return;
    const terms = { did: `${member.node} has rebuilt its disk`, forgets: false };
    const seen = new Set<PackedKey>();
    for (const [, key, { token }] of this.#copies.copies()) {
      if (seen.has(key) || this.#copies.flushes.isFlushed(key)) continue;
      seen.add(key);
      const owners = ring.placement(token as Token);
      if (!owners.some(({ node }) => node === member.node)) continue;
      const near = owners.filter((one) => one.datacenter === member.datacenter && one.node !== member.node);
      this.#judge(key, near, member.node, startedUs, terms);
    }
  }

  /** A quorum of another datacenter may have acknowledged what a majority there holds. */
  #judgeFar(member: Member, ring: Ring): void {
    const startedUs = this.#startedUs.get(member.node);
    if (startedUs === undefined) return;
    const seen = new Set<PackedKey>();
    for (const [, key, { token }] of this.#copies.copies()) {
      if (seen.has(key) || this.#copies.flushes.isFlushed(key)) continue;
      seen.add(key);
      const owners = ring.placement(token as Token);
      if (!owners.some(({ node }) => node === member.node)) continue;
      for (const place of ring.datacenters) {
        if (place === member.datacenter) continue;
        const far = owners.filter(({ datacenter }) => datacenter === place);
        this.#judgeQuorum(key, far, member.node, startedUs);
      }
    }
  }

  #judgeQuorum(key: PackedKey, far: readonly Member[], owner: string, startedUs: number): void {
    if (far.some(({ node }) => this.#forgetful.has(node))) return;
    const terms = { did: `${owner} has rebuilt its disk`, forgets: false };
    // Some may hold a newer version than the others: each one's is judged.
    for (const one of far) {
      const copy = this.#servedAt(one.node, key);
      if (copy === undefined || copy.atUs > startedUs) continue;
      const others = this.#holdersOf(key, copy, far, startedUs).filter((holder) => holder !== one);
      if ((others.length + 1) * 2 > far.length) this.#judge(key, [one, ...others], owner, startedUs, terms);
    }
  }

  /** Those of the owners that have held the copy, or a newer one, since then. */
  #holdersOf(key: PackedKey, copy: HeldCopy, owners: readonly Member[], sinceUs: number): readonly Member[] {
    return owners.filter(({ node }) => {
      const held = this.#servedAt(node, key);
      return held !== undefined && held.atUs <= sinceUs && this.#copies.has(node, key, copy.object) === 'all';
    });
  }

  #judge(
    key: PackedKey,
    holders: readonly Member[],
    owner: string,
    begunUs: number,
    { did, forgets }: { readonly did: string; readonly forgets: boolean },
  ): void {
    const copies = holders.map(({ node }) => this.#servedAt(node, key));
    const [first] = copies;
    if (first === undefined || holders.some(({ node }) => this.#forgetful.has(node))) return;
    if (copies.some((copy) => copy === undefined || copy.atUs > begunUs)) return;
    // A version that one of them lacks may be at none of those that were read.
    if (!holders.every(({ node }) => this.#copies.has(node, key, first.object) === 'all')) return;
    const verdict = this.#copies.has(owner, key, first.object, forgets);
    if (verdict === 'unknown') {
      this.#skipped += 1;
      return;
    }
    this.#compared += 1;
    if (verdict === 'all') return;
    const held: HeldCopy | undefined = this.#copies.copyAt(owner, key);
    const has = held === undefined ? 'nothing' : describeObject(held.object);
    const text = `${did}, and ${owner} holds ${has} of ${nameOf(key)}; ${holders.map(({ node }) => node).join(' ')} held ${describeObject(first.object)} throughout`;
    this.#lost.push({ atUs: this.#nowUs(), text });
  }
}
