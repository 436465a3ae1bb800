/**
 * The names that clients gave to transactions, and which transaction carried out each, as far as this node has heard: as
 * the primary of a key, or as another owner of it, which keeps the name beside what was written under it. A repetition of
 * the same operations gets the first one's outcome, another use of the name is refused. A fence (fence.ts) is a record
 * that says that nothing was carried out under the name, and nothing will be. The records lie beside the writes
 * that they speak of (transactions/formats/idempotency-records.ts) and go when outcomes are forgotten.
 */
import type { ByteString, Token } from '../../base/ids.ts';
import type { ClientRecord, NamedRecord } from '../formats/idempotency-records.ts';
import { isFence, nameBytes } from '../formats/idempotency-records.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** A transaction with an order that is not carried out yet. */
interface Waiting {
  readonly xid: Xid;
  readonly order: PrepareRequest;
}

/** Part of the names of a range. */
export interface NamePage {
  readonly names: readonly NamedRecord[];
  /** There are more, after the last one of these. */
  readonly more: boolean;
}

export class IdempotencyKeys {
  readonly #records = new Map<string, ClientRecord>();
  readonly #countMax: number;
  #fenceCount = 0;

  /** With `countMax` names, new ones are refused until the oldest are forgotten: an early loss would carry out a retry. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** What stands against the order's name: it was carried out, or may yet be (the first of `waiting`, under the name). */
  standsAgainst(order: PrepareRequest, [waiting]: readonly Waiting[]): Voted | undefined {
    const { clientId, clientDigest } = order;
    if (clientId === '') return undefined;
    const done = this.#records.get(clientId);
    if (done !== undefined) return usedBefore(order, done);
    if (waiting !== undefined) {
      const { xid, order: other } = waiting;
      return refusal(clientId, xid, 'undecided', other.clientDigest === clientDigest);
    }
    if (this.#records.size - this.#fenceCount >= this.#countMax)
      return votedAbort(
        'prepare_failed',
        `${this.#countMax} ids of clients are remembered, as many as may be`,
      );
    return undefined;
  }

  /** It was carried out under that name, or nothing ever will be. */
  enter({ clientId, ...record }: NamedRecord): void {
    this.#uncount(clientId);
    this.#records.set(clientId, record);
    if (isFence(record)) this.#fenceCount += 1;
  }

  /** There is room for another fence: as many as of names are kept. */
  get mayFence(): boolean {
    return this.#fenceCount < this.#countMax;
  }

  #uncount(clientId: string): void {
    const known = this.#records.get(clientId);
    if (known !== undefined && isFence(known)) this.#fenceCount -= 1;
  }

  /** Who carried it out, if that is younger than `untilMs`. */
  get(clientId: string, untilMs: number): NamedRecord | undefined {
    const record = this.#records.get(clientId);
    return record === undefined || record.sinceMs <= untilMs ? undefined : { clientId, ...record };
  }

  /** The names of keys whose tokens `are` wanted, behind the name `after`: `bytesMax` of them, about, and one at least. */
  page(are: (token: Token) => boolean, after: string, bytesMax: number): NamePage {
    const names: NamedRecord[] = [];
    let bytes = 0;
    // One that was forgotten meanwhile was among the oldest: it is begun anew, and what comes twice changes nothing.
    let reached = after === '' || !this.#records.has(after);
    for (const [clientId, record] of this.#records) {
      if (reached && (record.tokens.length === 0 || record.tokens.some(are))) {
        if (bytes >= bytesMax) return { names, more: true };
        const named = { clientId, ...record };
        names.push(named);
        bytes += nameBytes(named);
      }
      reached ||= clientId === after;
    }
    return { names, more: false };
  }

  /** The first name is older than `untilMs`. */
  hasOlder(untilMs: number): boolean {
    for (const { sinceMs } of this.#records.values()) return sinceMs <= untilMs;
    return false;
  }

  /**
   * Forgets names older than `untilMs`, those first that came here first, and `countMax` at most; which they were. One that
   * another node has told of late may stay until what came before it goes.
   */
  forgetOlder(untilMs: number, countMax: number): readonly string[] {
    const old: string[] = [];
    for (const [clientId, { sinceMs }] of this.#records) {
      if (sinceMs > untilMs || old.length === countMax) break;
      old.push(clientId);
    }
    for (const clientId of old) {
      this.#uncount(clientId);
      this.#records.delete(clientId);
    }
    return old;
  }
}

/** The detail of an abort under an id that was fenced. */
export const fencedDetail = 'an earlier request under the id has ended without effect; use another id';

/** The order's name was carried out by that transaction, or is fenced. */
export function usedBefore(
  { clientId, clientDigest }: Pick<PrepareRequest, 'clientId' | 'clientDigest'>,
  record: Pick<ClientRecord, 'xid' | 'digest'>,
): Voted {
  const { xid, digest } = record;
  if (isFence(record)) return votedAbort('conflict', fencedDetail);
  return refusal(clientId, xid, 'committed', digest === clientDigest);
}

/** The other attempt under the order's name may be carried out yet. */
export function undecidedBefore(
  { clientId, clientDigest }: Pick<PrepareRequest, 'clientId' | 'clientDigest'>,
  xid: Xid,
  digest: ByteString,
): Voted {
  return refusal(clientId, xid, 'undecided', digest === clientDigest);
}

function refusal(clientId: string, xid: Xid, state: 'committed' | 'undecided', same: boolean): Voted {
  if (same) return { ...votedAbort('conflict', 'the id was used before'), earlier: { xid, state } };
  const name = JSON.stringify(clientId);
  return votedAbort(
    'conflict',
    `the id ${name} was used before, for other operations, by the transaction ${xid}`,
  );
}
