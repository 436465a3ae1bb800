/**
 * The idempotency keys that this node knows, and which transaction was applied under each. A node knows a key as the
 * primary of an object, or as another owner, which stores the idempotency record in the same batch as the object.
 *
 * A retry with the same operations gets the first transaction's outcome; other operations under the key are refused. A
 * fence (fence.ts) is a record that nothing was applied under the key, and nothing will be. The records are in the
 * node's store (transactions/formats/idempotency-records.ts) and are dropped when their outcomes are.
 */
import type { ByteString, Token } from '../../base/ids.ts';
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

/** The idempotency records of one node, in memory, in the sequence in which they came. */
export class IdempotencyKeys {
  readonly #records = new Map<string, ClientRecord>();
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

  /** Records that a transaction was applied under the key, or that the key is fenced. */
  enter({ clientId, ...record }: NamedRecord): void {
    this.#uncount(clientId);
    this.#records.set(clientId, record);
    if (isFence(record)) this.#fenceCount += 1;
  }

  /** True while fewer than `countMax` fences are known. */
  get mayFence(): boolean {
    return this.#fenceCount < this.#countMax;
  }

  #uncount(clientId: string): void {
    const known = this.#records.get(clientId);
    if (known !== undefined && isFence(known)) this.#fenceCount -= 1;
  }

  /** The record under the key, if it is younger than `untilMs` (retention clock). */
  get(clientId: string, untilMs: number): NamedRecord | undefined {
    const record = this.#records.get(clientId);
    return record === undefined || record.sinceMs <= untilMs ? undefined : { clientId, ...record };
  }

  /**
   * Records with a token that satisfies `are`, after the key `after`: about `bytesMax` bytes, and at least one record.
   */
  page(are: (token: Token) => boolean, after: string, bytesMax: number): NamePage {
    const names: NamedRecord[] = [];
    let bytes = 0;
    // If `after` was dropped meanwhile, it was among the oldest, so the page starts anew. A record that comes twice
    // changes nothing.
    let reached = after === '' || !this.#records.has(after);
    for (const [clientId, record] of this.#records) {
      if (reached && record.tokens.some(are)) {
        if (bytes >= bytesMax) return { names, more: true };
        const named = { clientId, ...record };
        names.push(named);
        bytes += nameBytes(named);
      }
      reached ||= clientId === after;
    }
    return { names, more: false };
  }

  /** True if the first record is older than `untilMs`. */
  hasOlder(untilMs: number): boolean {
    for (const { sinceMs } of this.#records.values()) return sinceMs <= untilMs;
    return false;
  }

  /**
   * Drops at most `countMax` records older than `untilMs`, in the sequence in which they came, and returns their keys.
   * A record that came late from another node may stay until those before it are dropped.
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
