/** Bucket properties in a map, as one node would have them, for the listeners' tests. */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { bucketPrefix } from '../../base/object-key.ts';
import type { BucketProperties, PropertySet } from '../../buckets/properties.ts';
import { typeProperties, withProperties } from '../../buckets/properties.ts';
import type { BucketAdmin } from '../bucket-admin.ts';

/** A `BucketAdmin` over maps; it knows the bucket types that the test names. */
export class MapBuckets implements BucketAdmin {
  readonly #types: Map<ByteString, BucketProperties>;
  readonly #buckets = new Map<string, BucketProperties>();
  /** The error that the next changes reject with. */
  failure: LockstepError | undefined;

  constructor(types: readonly string[]) {
    this.#types = new Map(types.map((name) => [byteStringOf(name), typeProperties(name, new Map())]));
  }

  of(type: ByteString, bucket: ByteString): BucketProperties {
    return (
      this.#buckets.get(bucketPrefix(type, bucket)) ??
      this.#types.get(type) ??
      typeProperties('default', new Map())
    );
  }

  ofType(type: ByteString): BucketProperties | undefined {
    return this.#types.get(type);
  }

  typeNames(): readonly ByteString[] {
    return [...this.#types.keys()];
  }

  async set(type: ByteString, bucket: ByteString, set: PropertySet): Promise<void> {
    this.#mayFail();
    this.#buckets.set(bucketPrefix(type, bucket), withProperties(this.of(type, bucket), set));
  }

  async reset(type: ByteString, bucket: ByteString): Promise<void> {
    this.#mayFail();
    this.#buckets.delete(bucketPrefix(type, bucket));
  }

  async createType(type: ByteString, set: PropertySet): Promise<void> {
    this.#mayFail();
    if (this.#types.has(type)) throw new LockstepError('Conflict', `the bucket type ${type} exists already`);
    this.#types.set(type, typeProperties(type, set));
  }

  async setType(type: ByteString, set: PropertySet): Promise<void> {
    this.#mayFail();
    const before = this.#types.get(type);
    if (before === undefined) throw new LockstepError('NotFound', `there is no bucket type ${type}`);
    this.#types.set(type, withProperties(before, set));
  }

  #mayFail(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}
