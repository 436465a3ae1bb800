/** The properties of buckets and bucket types as the listeners read and change them. */
import type { ByteString } from '../base/ids.ts';
import type { BucketProperties, PropertySet } from '../buckets/properties.ts';

export interface BucketAdmin {
  of(type: ByteString, bucket: ByteString): BucketProperties;
  /** What the type's buckets have that have set nothing; undefined for an unknown type. */
  ofType(type: ByteString): BucketProperties | undefined;
  /** All bucket types, `default` first. */
  typeNames(): readonly ByteString[];
  /**
   * Each resolves when the change is durable here and known to every node that can be reached; rejects with `Conflict`
   * (keys of the bucket would be lost to sight, or a type exists), `NoTargets`, `NotFound`, `BadRequest`, `TooLarge`,
   * `StorageFailed`.
   */
  set(type: ByteString, bucket: ByteString, set: PropertySet): Promise<void>;
  reset(type: ByteString, bucket: ByteString): Promise<void>;
  createType(type: ByteString, set: PropertySet): Promise<void>;
  setType(type: ByteString, set: PropertySet): Promise<void>;
}
