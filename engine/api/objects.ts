/**
 * Reads and deletes objects for both client protocols where that takes more than one call of the dispatcher, and says
 * how clients see an object: as missing, single or with siblings.
 */
import { BytesError } from '../base/bytes.ts';
import type { QuorumName } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import type { ObjectKey } from '../base/object-key.ts';
import type { Dispatcher, ReadNeed } from '../replication/requests.ts';
import type { Clock } from '../io/clock.ts';
import { tombstone } from '../replica/object/content.ts';
import type { VersionVector } from '../replica/object/dots.ts';
import type { Sibling, StoredObject } from '../replica/object/object.ts';
import { decodeContext } from '../replica/object/object.ts';
import type { ReplicaTerms, WriteQuorum } from '../replication/needs.ts';
import type { RequestTimes } from '../base/request-times.ts';
import { absenceNeed } from '../replication/needs.ts';

/** Milliseconds. A longer timeout from a client is cut to this. */
export const timeoutMsMax = 24 * 60 * 60 * 1000;

/** Whether only tombstones are left, so that the object does not exist for clients. */
export function isDeleted(object: StoredObject): boolean {
  return object.siblings.every((sibling) => sibling.tombstone);
}

/** The object's sibling if it has exactly one; undefined if it has several. */
export function onlySibling(object: StoredObject): Sibling | undefined {
  return object.siblings.length === 1 ? object.siblings[0] : undefined;
}

/**
 * Decodes a context that a client sent; no bytes are the empty context. Throws `BadRequest` that names `where`, the
 * place of the bytes in the request.
 */
export function parseContext(bytes: Uint8Array, where: string): VersionVector {
  if (bytes.length === 0) return [];
  try {
    return decodeContext(bytes);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError('BadRequest', `${where} is not a causal context that this cluster gave out`, {
      cause: error,
    });
  }
}

/** The quorum terms of a client's read. */
export interface Reading {
  readonly need: ReadNeed;
  readonly quorum: QuorumName;
  /** If false, a replica's "not found" does not count until no other replica could still hold the object. */
  readonly notFoundOk: boolean;
  readonly basicQuorum: boolean;
}

/**
 * Reads the object under a key; undefined if the replicas have none. With `notfound_ok` false, an absence is confirmed
 * by a second read of more replicas. Rejects with the dispatcher's errors.
 */
export async function readObject(
  dispatcher: Dispatcher,
  key: ObjectKey,
  reading: Reading,
  terms: ReplicaTerms,
  patience: Patience,
): Promise<StoredObject | undefined> {
  const { need, quorum, notFoundOk, basicQuorum } = reading;
  const { times } = patience;
  const { object } = await dispatcher.get({ key, need, quorum, timeoutMs: patience.remainingMs(), times });
  if (object !== undefined || notFoundOk) return object;
  const more = absenceNeed(terms, need, basicQuorum);
  if (more === undefined) return undefined;
  try {
    const timeoutMs = patience.remainingMs();
    return (await dispatcher.get({ key, need: more.need, quorum, timeoutMs, times })).object;
  } catch (error) {
    throw notConfirmed(error, more.asked);
  }
}

/**
 * The error of the confirming read, with its vote count corrected: too few replicas confirmed the absence, and none of
 * their answers counts for the client.
 */
function notConfirmed(error: unknown, needed: number): unknown {
  if (!(error instanceof LockstepError) || error.facts.votes === undefined) return error;
  const votes = { ...error.facts.votes, got: 0, needed };
  return new LockstepError(error.code, error.message, { ...error.facts, votes, cause: error });
}

/** What is left of a client's timeout, for an operation of several steps. */
export class Patience {
  readonly #clock: Clock;
  readonly #endUs: number | undefined;
  /** Where the steps note how long they take. */
  readonly times: RequestTimes | undefined;

  /** `timeoutMs` in milliseconds; undefined: each step has the dispatcher's own limit. */
  constructor(clock: Clock, timeoutMs: number | undefined, times?: RequestTimes) {
    this.#clock = clock;
    this.times = times;
    this.#endUs = timeoutMs === undefined ? undefined : clock.nowUs() + timeoutMs * 1000;
  }

  /**
   * The `timeoutMs` of the next step, undefined if the client gave none; 0 if no time is left, which the dispatcher
   * answers with `Timeout` and counts.
   */
  remainingMs(): number | undefined {
    if (this.#endUs === undefined) return undefined;
    return Math.max(0, Math.floor((this.#endUs - this.#clock.nowUs()) / 1000));
  }
}

/**
 * Writes a tombstone as a client that has seen `context`; with `ifContext`, only if the object has exactly that
 * context. Rejects with the dispatcher's errors.
 */
export async function writeTombstone(
  dispatcher: Dispatcher,
  key: ObjectKey,
  { need, quorum }: WriteQuorum,
  context: VersionVector,
  patience: Patience,
  ifContext?: VersionVector,
): Promise<void> {
  const { times } = patience;
  const timeoutMs = patience.remainingMs();
  await dispatcher.put({ key, need, quorum, context, content: tombstone, timeoutMs, ifContext, times });
}

/** Whether this cluster has a bucket type of that name. */
export type KnowsType = (type: ByteString) => boolean;
