/**
 * The claims of primaries on idempotency keys, as this node remembers them as an owner of the primaries' keys
 * (lookup.ts).
 *
 * A primary claims an idempotency key at a majority of the owners before it votes or commits. So a fence at a majority
 * (fence.ts) meets every attempt that came before it. A claim ends with the record of the applied transaction, or with
 * a fence that names its attempt as aborted. It also ends when its primary reports that the attempt is no longer open.
 *
 * Claims are only in memory, so no first attempt waits for a sync because of them. After a restart this node therefore
 * asks every member which attempts are open there. Until a member has answered, a fence reports it as `unheard`.
 */
import type { ByteString, NodeId } from '../../base/ids.ts';
import type { Claimed } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** A claim with the digest of its operations and its age. */
export interface Claim extends Claimed {
  /** Digest of the client's operations; empty if this node does not know it. */
  readonly digest: ByteString;
  readonly sinceUs: number;
}

/** The claims at one owner, by idempotency key. At most `countMax` keys. */
export class Claims {
  readonly #claims = new Map<string, readonly Claim[]>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** True if no further idempotency key can be claimed. */
  get isFull(): boolean {
    return this.#claims.size >= this.#countMax;
  }

  /** The claims on the idempotency key. */
  of(clientId: string): readonly Claim[] {
    return this.#claims.get(clientId) ?? none;
  }

  /** A claim by another primary for another attempt, which may still be applied. Undefined if there is none. */
  against(clientId: string, { xid, leader }: Claimed): Claim | undefined {
    return this.of(clientId).find((one) => one.xid !== xid && one.leader !== leader);
  }

  /** Records the claim. A primary has one attempt under a key at a time, so its earlier claim ends. */
  enter(clientId: string, claim: Claim): void {
    const others = this.#claims.get(clientId);
    if (others === undefined) this.#claims.set(clientId, [claim]);
    else this.#claims.set(clientId, [...others.filter(({ leader }) => leader !== claim.leader), claim]);
  }

  /** Records that a member reports this attempt as open, beside its other claims. */
  note(clientId: string, claim: Claim): void {
    const others = this.of(clientId).filter(
      ({ xid, leader }) => xid !== claim.xid || leader !== claim.leader,
    );
    this.#claims.set(clientId, [...others, claim]);
  }

  /** Drops every claim on the key: its record replaces them. */
  end(clientId: string): void {
    this.#claims.delete(clientId);
  }

  /** Drops the claims of an aborted attempt. */
  void(clientId: string, xid: Xid): void {
    this.#keep(clientId, (claim) => claim.xid !== xid);
  }

  /** Primaries with claims from before `untilUs` (monotonic microseconds). */
  leadersBefore(untilUs: number): ReadonlySet<NodeId> {
    const leaders = new Set<NodeId>();
    for (const claims of this.#claims.values())
      for (const { leader, sinceUs } of claims) if (sinceUs < untilUs) leaders.add(leader);
    return leaders;
  }

  /** Of the primary's claims from before `untilUs`, keeps those whose attempts are still open. */
  retain(leader: NodeId, open: ReadonlySet<Xid>, untilUs: number): void {
    for (const clientId of [...this.#claims.keys()])
      this.#keep(clientId, (one) => one.leader !== leader || one.sinceUs >= untilUs || open.has(one.xid));
  }

  #keep(clientId: string, isOpen: (claim: Claim) => boolean): void {
    const claims = this.of(clientId);
    const open = claims.filter(isOpen);
    if (open.length === 0) this.#claims.delete(clientId);
    else if (open.length < claims.length) this.#claims.set(clientId, open);
  }
}

const none: readonly never[] = [];
