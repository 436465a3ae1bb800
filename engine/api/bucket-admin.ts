/** The port through which the client listeners read and change properties of buckets and bucket types. */
import type { ByteString } from '../base/ids.ts';
import type { BucketProperties, PropertySet } from '../buckets/properties.ts';

/** Properties of buckets and bucket types, cluster-wide. `buckets/` implements it; tests use a map. */
export interface BucketAdmin {
  /** The effective properties of a bucket, its type's where it has none of its own. */
  of(type: ByteString, bucket: ByteString): BucketProperties;
  /** The properties of a type's buckets that have none of their own; undefined if the type is unknown. */
  ofType(type: ByteString): BucketProperties | undefined;
  /** All bucket types, `default` first. */
  typeNames(): readonly ByteString[];
  /**
   * The four changes resolve when the change is durable here and every reachable node knows it. They reject with
   * `Conflict` (a change that would hide keys of the bucket, or a type that exists), `NoTargets`, `NotFound`,
   * `BadRequest`, `TooLarge`, `StorageFailed`, or `ShuttingDown` (this node leaves the cluster).
   */
  set(type: ByteString, bucket: ByteString, set: PropertySet): Promise<void>;
  reset(type: ByteString, bucket: ByteString): Promise<void>;
  createType(type: ByteString, set: PropertySet): Promise<void>;
  setType(type: ByteString, set: PropertySet): Promise<void>;
}
