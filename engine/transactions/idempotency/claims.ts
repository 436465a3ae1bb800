/**
 * The claims that primaries have made on ids of clients at this node, as an owner of their keys (lookup.ts). A primary
 * claims an id at a majority of the owners before it votes or commits, so a fence at a majority (fence.ts) meets every
 * attempt that came before it. A claim ends with the record of what was carried out, with a fence that names its attempt
 * as aborted, or when its primary says that the attempt is not open there any more.
 *
 * Claims are in memory alone: no first attempt waits for a sync on their account. After a restart this node therefore
 * asks every member which attempts are open there, and says until then which members it has not heard.
 */
import type { ByteString, NodeId } from '../../base/ids.ts';
import type { Claimed } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

export interface Claim extends Claimed {
  /** What the client wants done, in short; empty: not known here. */
  readonly digest: ByteString;
  readonly sinceUs: number;
}

export class Claims {
  readonly #claims = new Map<string, readonly Claim[]>();
  readonly #countMax: number;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** There is no room for claims on further ids. */
  get isFull(): boolean {
    return this.#claims.size >= this.#countMax;
  }

  of(clientId: string): readonly Claim[] {
    return this.#claims.get(clientId) ?? none;
  }

  /** A claim of another attempt, made by another primary: it may be carried out yet. */
  against(clientId: string, { xid, leader }: Claimed): Claim | undefined {
    return this.of(clientId).find((one) => one.xid !== xid && one.leader !== leader);
  }

  /** Remembers the claim. A primary has one attempt under an id at a time, so its earlier claim is over. */
  enter(clientId: string, claim: Claim): void {
    const others = this.#claims.get(clientId);
    if (others === undefined) this.#claims.set(clientId, [claim]);
    else this.#claims.set(clientId, [...others.filter(({ leader }) => leader !== claim.leader), claim]);
  }

  /** A primary or coordinator has said that the attempt is open there. */
  note(clientId: string, claim: Claim): void {
    const others = this.of(clientId).filter(
      ({ xid, leader }) => xid !== claim.xid || leader !== claim.leader,
    );
    this.#claims.set(clientId, [...others, claim]);
  }

  /** The id has a record: it speaks for every claim. */
  end(clientId: string): void {
    this.#claims.delete(clientId);
  }

  /** The attempt is aborted. */
  void(clientId: string, xid: Xid): void {
    this.#keep(clientId, (claim) => claim.xid !== xid);
  }

  /** Primaries with claims that were made before `untilUs`. */
  leadersBefore(untilUs: number): ReadonlySet<NodeId> {
    const leaders = new Set<NodeId>();
    for (const claims of this.#claims.values())
      for (const { leader, sinceUs } of claims) if (sinceUs < untilUs) leaders.add(leader);
    return leaders;
  }

  /** Of the primary's claims that were made before `untilUs` only those of these attempts are open. */
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
