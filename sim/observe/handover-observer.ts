/**
 * Follows the ranges that ring changes move (`transfer-soundness`): when a member has moved its ranges, the new owners
 * of each key hold what all former owners have held since before the move began.
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
type Copies = Pick<ObjectObserver, 'copies' | 'copyAt' | 'has'>;

/** Judges every move of ranges as it ends. */
export class HandoverObserver {
  readonly #nowUs: () => number;
  readonly #copies: Copies;
  /** Nodes whose disks may forget what they had acknowledged. */
  readonly #forgetful: ReadonlySet<string>;
  /** When each member began to move its ranges. */
  readonly #begunUs = new Map<string, number>();
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
      if (seen.has(key)) continue;
      seen.add(key);
      const former = ring.placement(token as Token);
      for (const owner of next.placement(token as Token)) {
        if (former.some(({ node }) => node === owner.node)) continue;
        const near = former.filter(({ datacenter }) => datacenter === owner.datacenter);
        this.#judge(key, near, owner.node, begunUs, member.node);
      }
    }
  }

  #judge(key: PackedKey, former: readonly Member[], owner: string, begunUs: number, member: string): void {
    const copies = former.map(({ node }) => this.#copies.copyAt(node, key));
    const [first] = copies;
    if (first === undefined || former.some(({ node }) => this.#forgetful.has(node))) return;
    if (copies.some((copy) => copy === undefined || copy.atUs > begunUs)) return;
    // A version that one of them lacks may be at none of those that were read.
    if (!former.every(({ node }) => this.#copies.has(node, key, first.object) === 'all')) return;
    const verdict = this.#copies.has(owner, key, first.object);
    if (verdict === 'unknown') {
      this.#skipped += 1;
      return;
    }
    this.#compared += 1;
    if (verdict === 'all') return;
    const held: HeldCopy | undefined = this.#copies.copyAt(owner, key);
    const has = held === undefined ? 'nothing' : describeObject(held.object);
    const text = `${member} has moved its ranges, and ${owner} holds ${has} of ${nameOf(key)}; ${former.map(({ node }) => node).join(' ')} held ${describeObject(first.object)} throughout`;
    this.#lost.push({ atUs: this.#nowUs(), text });
  }
}
