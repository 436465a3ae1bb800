/**
 * What both client protocols do with objects beyond one call of the dispatcher, and how they see them.
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
import { absenceNeed } from '../replication/needs.ts';

/** Milliseconds a client may ask to wait at most; more is cut to this. */
export const timeoutMsMax = 24 * 60 * 60 * 1000;

/** All that is left is deletions: to a client there is nothing. */
export function isDeleted(object: StoredObject): boolean {
  return object.siblings.every((sibling) => sibling.tombstone);
}

/** The one version, or undefined when there are several. */
export function onlySibling(object: StoredObject): Sibling | undefined {
  return object.siblings.length === 1 ? object.siblings[0] : undefined;
}

/** The context in a client's bytes; none for no bytes. Throws `BadRequest`, naming where the bytes stood. */
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

/** A client's read. */
export interface Reading {
  readonly need: ReadNeed;
  readonly quorum: QuorumName;
  /** False: an answer of "I have none" counts for nothing until no copy can be left that matters. */
  readonly notFoundOk: boolean;
  readonly basicQuorum: boolean;
}

/** The object under a key; undefined when the replicas have none. */
export async function readObject(
  dispatcher: Dispatcher,
  key: ObjectKey,
  reading: Reading,
  terms: ReplicaTerms,
  patience: Patience,
): Promise<StoredObject | undefined> {
  const { need, quorum, notFoundOk, basicQuorum } = reading;
  const { object } = await dispatcher.get({ key, need, quorum, ...patience.remaining() });
  if (object !== undefined || notFoundOk) return object;
  const more = absenceNeed(terms, need, basicQuorum);
  if (more === undefined) return undefined;
  try {
    return (await dispatcher.get({ key, need: more.need, quorum, ...patience.remaining() })).object;
  } catch (error) {
    throw notConfirmed(error, more.asked);
  }
}

/** Too few replicas say that they have nothing; of the answers that the client counts there were none. */
function notConfirmed(error: unknown, needed: number): unknown {
  if (!(error instanceof LockstepError) || error.facts.votes === undefined) return error;
  const votes = { ...error.facts.votes, got: 0, needed };
  return new LockstepError(error.code, error.message, { ...error.facts, votes, cause: error });
}

/** What remains of the client's patience, for an operation of several steps. */
export class Patience {
  readonly #clock: Clock;
  readonly #endUs: number | undefined;

  /** `timeoutMs` undefined: the dispatcher's own limit holds for each step. */
  constructor(clock: Clock, timeoutMs: number | undefined) {
    this.#clock = clock;
    this.#endUs = timeoutMs === undefined ? undefined : clock.nowUs() + timeoutMs * 1000;
  }

  /** For a request's `timeoutMs`; 0 when nothing remains, which the dispatcher answers `Timeout`, and counts. */
  remaining(): { readonly timeoutMs?: number } {
    if (this.#endUs === undefined) return {};
    return { timeoutMs: Math.max(0, Math.floor((this.#endUs - this.#clock.nowUs()) / 1000)) };
  }
}

/** Writes a deletion by someone who has seen `context`. */
export async function writeTombstone(
  dispatcher: Dispatcher,
  key: ObjectKey,
  { need, quorum }: WriteQuorum,
  context: VersionVector,
  timeout: { readonly timeoutMs?: number },
  ifContext?: VersionVector,
): Promise<void> {
  const condition = ifContext === undefined ? {} : { ifContext };
  await dispatcher.put({ key, need, quorum, context, content: tombstone, ...timeout, ...condition });
}

/** Bucket types that this cluster knows. */
export type KnowsType = (type: ByteString) => boolean;
