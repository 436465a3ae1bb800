/**
 * The requests that the listeners pass to the dispatcher, and its answers. The dispatcher is the only path from a
 * client's request to the replicas; it never sees a protocol.
 */
import type { QuorumName } from '../base/errors.ts';
import { LockstepError } from '../base/errors.ts';
import type { ObjectKey } from '../base/object-key.ts';
import type { Content } from '../replica/object/content.ts';
import type { VersionVector } from '../replica/object/dots.ts';
import type { StoredObject } from '../replica/object/object.ts';
import type { RequestTimes } from '../base/request-times.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { Need } from '../buckets/properties.ts';

/** Whose answers a request waits for (spec: consistency levels). */
export type ConsistencyLevel = 'DC_ONE' | 'DC_QUORUM' | 'DC_SAFE_QUORUM' | 'DC_EACH_SAFE_QUORUM';

/** All consistency levels, from the weakest to the strongest. */
export const consistencyLevels: readonly ConsistencyLevel[] = [
  'DC_ONE',
  'DC_QUORUM',
  'DC_SAFE_QUORUM',
  'DC_EACH_SAFE_QUORUM',
];

export type { Need } from '../buckets/properties.ts';

/**
 * A level of several datacenters, raised in the local one: there at least `atLeast` replicas must answer. This is what
 * `pr`, `pw`, `dw` and `node_confirms` require beyond the level.
 */
export interface RaisedLevel {
  readonly atLeast: number;
}

/** What a write waits for. */
export type WriteNeed = Need | RaisedLevel;

/**
 * What a read waits for. `primary`: the key's primary alone answers; it sees the effects of transactions, and waits for
 * those under way.
 */
export type ReadNeed = WriteNeed | 'primary';

/**
 * A client's read. Listeners name every field, absent ones as undefined: spreading one object into another costs several
 * microseconds, which is more than the read's plan.
 */
export interface GetRequest {
  readonly key: ObjectKey;
  readonly need: ReadNeed;
  /** The parameter that the need comes from, which an error names if it is not met. `r` if absent. */
  readonly quorum?: QuorumName;
  /** Milliseconds the client is willing to wait; the node's default if absent. */
  readonly timeoutMs?: number | undefined;
  /** Where to note how long the steps take. */
  readonly times?: RequestTimes | undefined;
  /** Without `times`: the span of the traced request that this read is a part of. */
  readonly partOf?: OpenSpan | undefined;
}

/** Learns how a read has ended. One of the methods is called, once, perhaps before `Dispatcher.read` returns. */
export interface ReadEnd {
  /** The merged object, tombstones included; undefined if no replica asked holds a copy. */
  answered(object: StoredObject | undefined): void;
  failed(error: unknown): void;
}

/** One of several reads that are made together; it gets its own outcome. */
export interface JoinedRead extends GetRequest, ReadEnd {}

/** The answer to a read. */
export interface GetResult {
  /** The merged object, tombstones included; undefined if no replica asked holds a copy. */
  readonly object: StoredObject | undefined;
}

/** A client's write or deletion. */
export interface PutRequest {
  readonly key: ObjectKey;
  readonly need: WriteNeed;
  /** As for a read; `w` if absent. */
  readonly quorum?: QuorumName;
  readonly timeoutMs?: number | undefined;
  /** The context of the client's last read, or empty. */
  readonly context: VersionVector;
  /** A deletion is the content `tombstone`. */
  readonly content: Content;
  /** Fails with `PreconditionFailed` if the key holds a value at the coordinating replica. */
  readonly ifNoneMatch?: boolean | undefined;
  /** Fails with `PreconditionFailed` unless the coordinating replica's context equals this one. */
  readonly ifContext?: VersionVector | undefined;
  /** Where to note how long the steps take. */
  readonly times?: RequestTimes | undefined;
  /** Without `times`: the span of the traced request that this write is a part of. */
  readonly partOf?: OpenSpan | undefined;
}

/** A client's write that replaces whatever the key holds. The bucket's properties say what it waits for. */
export interface ReplaceRequest {
  readonly key: ObjectKey;
  readonly content: Content;
  readonly timeoutMs: number;
  /** The span of the traced request that this write is a part of. */
  readonly partOf: OpenSpan | undefined;
}

/** Gets the outcome of a replacement: undefined, or why it failed, a `NotReplaced` or another `LockstepError`. */
export type Replaced = (error: unknown) => void;

/** One of several replacements that are made together. */
export interface JoinedReplacement extends ReplaceRequest {
  /** Gets the outcome, as `Replaced`. */
  replaced(error: unknown): void;
}

/**
 * A replacement is not known to have replaced all: another write may count as newer, or a value that expires may be there. The caller reads the key and writes on top of that. Its write must include `attempt`.
 */
export class NotReplaced extends LockstepError {
  /** The context of what has reached some replicas; empty: nothing was written. */
  readonly attempt: VersionVector;

  constructor(attempt: VersionVector) {
    super('PreconditionFailed', 'what the key holds must be read first');
    this.attempt = attempt;
  }
}

/** The answer to a write. */
export interface PutResult {
  /** The object after the write, as the coordinating replica has it. */
  readonly object: StoredObject;
}

/**
 * Reads and writes objects. The methods fail with a `LockstepError`: `NoTargets`, `NoQuorum`, `Timeout`,
 * `PreconditionFailed`, `Overloaded`, `BadRequest` (a need that the topology cannot meet), `ReplicasDisagree`,
 * `Corrupted`, `StorageFailed`, `ShuttingDown`.
 */
export interface Dispatcher {
  get(request: GetRequest): Promise<GetResult>;
  /**
   * As `get`, without promises, which would cost as much as the read's plan and its round together.
   */
  read(request: GetRequest, end: ReadEnd): void;
  /**
   * As `read` of each. What is asked of one replica goes as one message, so that a pipeline costs little more than one
   * request. Keys may be named several times.
   */
  readMany(requests: readonly JoinedRead[]): void;
  put(request: PutRequest): Promise<PutResult>;
  /**
   * Replaces whatever a majority of the datacenter's replicas hold, as if the client had read it first. Calls `done`
   * once, perhaps before it returns; with `NotReplaced` if it cannot be told whether all of it was replaced. Takes a
   * function, since a promise would cost as much as the plan and the round of such a write together.
   */
  replace(request: ReplaceRequest, done: Replaced): void;
  /**
   * As `replace` of each. The keys are distinct. What goes to one replica goes as one message and becomes durable there
   * with one write, so that a pipeline costs little more than one request.
   */
  replaceMany(requests: readonly JoinedReplacement[]): void;
}
