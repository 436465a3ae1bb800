/**
 * The properties of every bucket as this node knows them: those of its type, and over them its own.
 */
import type { ByteString } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { BucketProperties } from './properties.ts';
import { defaultProperties } from './properties.ts';

export class Buckets {
  readonly #types: ReadonlyMap<string, BucketProperties>;

  /** `types`: the configured bucket types by name. */
  constructor(types: ReadonlyMap<string, BucketProperties>) {
    this.#types = types;
  }

  of(type: ByteString, bucket: ByteString): BucketProperties {
    void bucket;
    return this.#types.get(textOf(type)) ?? defaultProperties;
  }

  /** Of the bucket of a key in its packed form. */
  ofKey(packed: PackedKey): BucketProperties {
    const key = unpackKey(packed);
    return key === undefined ? defaultProperties : this.of(key.type, key.bucket);
  }

  /** The bucket type exists. */
  knowsType(type: ByteString): boolean {
    return this.#types.has(textOf(type));
  }
}
