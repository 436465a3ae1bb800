/**
 * What the listeners ask of the dispatcher, and what they get back. The dispatcher is the only way from a client's
 * words to the replicas; it never sees a protocol.
 */
import type { ObjectKey } from '../base/object-key.ts';
import type { Content } from '../replica/object/content.ts';
import type { VersionVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { Need } from '../buckets/properties.ts';

/** Whose answers a request waits for (spec: consistency levels). */
export type ConsistencyLevel = 'DC_ONE' | 'DC_QUORUM' | 'DC_SAFE_QUORUM' | 'DC_EACH_SAFE_QUORUM';

export const consistencyLevels: readonly ConsistencyLevel[] = [
  'DC_ONE',
  'DC_QUORUM',
  'DC_SAFE_QUORUM',
  'DC_EACH_SAFE_QUORUM',
];

export type { Need } from '../buckets/properties.ts';

/**
 * The level's own numbers in every datacenter that it names, and in the local one so many replicas at least: what `pr`,
 * `pw`, `dw` and `node_confirms` ask for beyond a level that several datacenters answer.
 */
export interface RaisedLevel {
  readonly atLeast: number;
}

export type WriteNeed = Need | RaisedLevel;

/** `primary`: the key's primary alone answers, which sees what transactions have done, and waits where they are under way. */
export type ReadNeed = WriteNeed | 'primary';

export interface GetRequest {
  readonly key: ObjectKey;
  readonly need: ReadNeed;
  /** Milliseconds the client is willing to wait; the node's default when absent. */
  readonly timeoutMs?: number;
}

export interface GetResult {
  /** Everything known under the key, tombstones included; undefined when no replica asked has anything. */
  readonly object: StoredObject | undefined;
}

export interface PutRequest {
  readonly key: ObjectKey;
  readonly need: WriteNeed;
  readonly timeoutMs?: number;
  /** What the writer has seen: the context of its last read, or empty. */
  readonly context: VersionVector;
  /** A deletion is the content `tombstone`. */
  readonly content: Content;
  /** Fail with `PreconditionFailed` when the key holds a value at the coordinating replica. */
  readonly ifNoneMatch?: boolean;
  /** Fail with `PreconditionFailed` unless the coordinating replica's context equals this one. */
  readonly ifContext?: VersionVector;
}

export interface PutResult {
  /** The object after the write, as the coordinating replica has it. */
  readonly object: StoredObject;
}

/**
 * Both reject with a `LockstepError`: `NoTargets`, `NoQuorum`, `Timeout`, `PreconditionFailed`, `Overloaded`,
 * `BadRequest` (a need that the topology cannot meet), `StorageFailed`, `ShuttingDown`.
 */
export interface Dispatcher {
  get(request: GetRequest): Promise<GetResult>;
  put(request: PutRequest): Promise<PutResult>;
}
