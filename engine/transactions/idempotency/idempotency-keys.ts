/**
 * The idempotency keys that this node knows, and which transaction was applied under each. A node knows a key as the
 * primary of an object, or as another owner, which stores the idempotency record in the same batch as the object.
 *
 * A retry with the same operations gets the first transaction's outcome; other operations under the key are refused. A
 * fence (fence.ts) is a record that nothing was applied under the key, and nothing will be. The records are in the
 * node's store (transactions/formats/idempotency-records.ts) and are dropped when their outcomes are.
 */
import type { ByteString, Token } from '../../base/ids.ts';
import { RecentMap } from '../../base/recent-map.ts';
import type { ClientRecord, NamedRecord } from '../formats/idempotency-records.ts';
import { isFence, nameBytes } from '../formats/idempotency-records.ts';
import type { Voted } from '../formats/prepare-request.ts';
import { votedAbort } from '../formats/prepare-request.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** A transaction that is not applied yet, or may have been. */
interface Waiting {
  readonly xid: Xid;
  readonly order: Pick<PrepareRequest, 'clientDigest'>;
}

/** Some of the idempotency records of a range. */
export interface NamePage {
  readonly names: readonly NamedRecord[];
  /** There are more, after the last one of these. */
  readonly more: boolean;
}

/** A record and its place in the sequence, which grows. */
interface Placed {
  readonly record: ClientRecord;
  readonly place: number;
}

/** The last keys of pages whose places are noted. Walks that are under way at the same time are far fewer. */
const cursorCountMax = 128;

/** The idempotency records of one node, in memory, in the sequence in which they came. */
export class IdempotencyKeys {
  /** In the sequence of their places. */
  readonly #records = new Map<string, Placed>();
  #lastPlace = 0;
  /**
   * The place that the last key of a page had: by the time the next page is asked for, the key may have been dropped, and
   * used again in another place.
   */
  readonly #cursors = new RecentMap<string, number>(cursorCountMax);
  readonly #countMax: number;
  #fenceCount = 0;

  /**
   * New keys are refused while `countMax` are known: dropping a record early would let a retry be applied a second
   * time.
   */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /**
   * The vote against the request's idempotency key, if a transaction was applied under it or may yet be (the first of
   * `waiting`). Also votes abort while too many keys are known. Undefined if nothing rules the key out.
   */
  standsAgainst(order: PrepareRequest, [waiting]: readonly Waiting[]): Voted | undefined {
    const { clientId, clientDigest } = order;
    if (clientId === '') return undefined;
    const done = this.#records.get(clientId)?.record;
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

  /**
   * Records that a transaction was applied under the key, or that the key is fenced. A record that is not as old as the
   * key's former one comes last, so that it does not keep older ones from being dropped.
   */
  enter({ clientId, ...record }: NamedRecord): void {
    this.#uncount(clientId);
    const known = this.#records.get(clientId);
    const keeps = known?.record.sinceMs === record.sinceMs;
    if (!keeps) this.#records.delete(clientId);
    const place = keeps ? known.place : (this.#lastPlace += 1);
    this.#records.set(clientId, { record, place });
    if (isFence(record)) this.#fenceCount += 1;
  }

  /** True while fewer than `countMax` fences are known. */
  get mayFence(): boolean {
    return this.#fenceCount < this.#countMax;
  }

  #uncount(clientId: string): void {
    const known = this.#records.get(clientId);
    if (known !== undefined && isFence(known.record)) this.#fenceCount -= 1;
  }

  /** The record under the key, if it is younger than `untilMs` (retention clock). */
  get(clientId: string, untilMs: number): NamedRecord | undefined {
    const record = this.#records.get(clientId)?.record;
    return record === undefined || record.sinceMs <= untilMs ? undefined : { clientId, ...record };
  }

  /**
   * Records with a token that satisfies `are`, after the key `after`: about `bytesMax` bytes, and at least one record.
   */
  page(are: (token: Token) => boolean, after: string, bytesMax: number): NamePage {
    const names: NamedRecord[] = [];
    let bytes = 0;
    // Of a key that is not known any more the page starts anew: a record that comes twice changes nothing.
    const from = this.#cursors.get(after) ?? this.#records.get(after)?.place ?? 0;
    let last = from;
    for (const [clientId, { record, place }] of this.#records) {
      if (place <= from || !record.tokens.some(are)) continue;
      if (bytes >= bytesMax) {
        this.#cursors.set(names.at(-1)?.clientId ?? '', last);
        return { names, more: true };
      }
      const named = { clientId, ...record };
      names.push(named);
      bytes += nameBytes(named);
      last = place;
    }
    return { names, more: false };
  }

  /** True if the first record is older than `untilMs`. */
  hasOlder(untilMs: number): boolean {
    for (const { record } of this.#records.values()) return record.sinceMs <= untilMs;
    return false;
  }

  /**
   * Drops at most `countMax` records older than `untilMs`, in the sequence in which they came, and returns their keys.
   * A record that came late from another node may stay until those before it are dropped.
   */
  forgetOlder(untilMs: number, countMax: number): readonly string[] {
    const old: string[] = [];
    for (const [clientId, { record }] of this.#records) {
      if (record.sinceMs > untilMs || old.length === countMax) break;
      old.push(clientId);
    }
    for (const clientId of old) {
      this.#uncount(clientId);
      this.#records.delete(clientId);
    }
    return old;
  }
}

/** The detail of an abort under a fenced idempotency key. */
export const fencedDetail = 'an earlier request under the id has ended without effect; use another id';

/**
 * The vote against a key under which a transaction was applied, or which is fenced. A retry's vote carries the earlier
 * transaction.
 */
export function usedBefore(
  { clientId, clientDigest }: Pick<PrepareRequest, 'clientId' | 'clientDigest'>,
  record: Pick<ClientRecord, 'xid' | 'digest'>,
): Voted {
  const { xid, digest } = record;
  if (isFence(record)) return votedAbort('conflict', fencedDetail);
  return refusal(clientId, xid, 'committed', digest === clientDigest);
}

/** The vote against a key under which another attempt may still be applied. */
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
