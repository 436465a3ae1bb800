/**
 * Resolves the properties of every bucket on this node. Four layers apply, each over the one before: Riak's defaults,
 * the configuration of the bucket's type, the record set for the type at run time, the record set for the bucket.
 *
 * Reads are synchronous and never fail: an unknown type has the defaults. The record table is `property-table.ts`;
 * keeping it durable and equal on all nodes is `property-keeper.ts`.
 */
import type { ByteString } from '../base/ids.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import { Epochs } from './epochs.ts';
import type { BucketProperties, PropertySet } from './properties.ts';
import { defaultProperties, typeProperties, withProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import { splitRecordName } from './property-codec.ts';
import { PropertyTable } from './property-table.ts';
import { valuesOf } from './registers.ts';

/** The register in a type's record that marks a bucket type created at run time. Its value is true. */
export const typeMark = 'type';

interface TypeRow {
  readonly properties: BucketProperties;
  /** Buckets with a record of their own. Every other bucket of the type has `properties`. */
  readonly buckets: Map<ByteString, BucketProperties>;
}

/** A bucket with the prefix that its packed keys of one epoch, and no other bucket's, begin with. */
interface RecentBucket {
  readonly prefix: string;
  readonly properties: BucketProperties;
}

/** Size of `#recent`. Scanning more entries costs as much as unpacking the key. */
const recentMax = 4;

/** The effective properties of all buckets and types of this node. */
export class Buckets {
  /** The epochs of the buckets that were flushed. */
  readonly epochs = new Epochs();
  readonly #configured: ReadonlyMap<string, BucketProperties>;
  readonly #listeners: (() => void)[] = [];
  readonly #table: PropertyTable;
  #types: ReadonlyMap<ByteString, TypeRow>;
  /** The buckets looked up last. Every request looks up several times and holds the key in packed form only. */
  readonly #recent: RecentBucket[] = [];
  #recentNext = 0;

  /** `configured`: the configured bucket types by name. `table`: the records set at run time. */
  constructor(configured: ReadonlyMap<string, BucketProperties>, table = new PropertyTable()) {
    this.#configured = configured;
    this.#table = table;
    this.epochs.note([...table.records].map(([name, record]) => ({ name, record })));
    this.#types = this.#resolve(table);
  }

  /** The records that were set at run time. Only `apply` may change them. */
  get table(): PropertyTable {
    return this.#table;
  }

  /** The properties of a bucket; those of its type if it has set none, Riak's defaults if the type is unknown. */
  of(type: ByteString, bucket: ByteString): BucketProperties {
    const row = this.#types.get(type);
    if (row === undefined) return defaultProperties;
    return row.buckets.get(bucket) ?? row.properties;
  }

  /** The properties of the bucket of a packed key; Riak's defaults for a key that does not unpack. */
  ofKey(packed: PackedKey): BucketProperties {
    for (const { prefix, properties } of this.#recent) if (packed.startsWith(prefix)) return properties;
    const key = unpackKey(packed);
    if (key === undefined) return defaultProperties;
    const properties = this.of(key.type, key.bucket);
    const prefix = packed.slice(0, packed.length - key.key.length);
    this.#recent[this.#recentNext] = { prefix, properties };
    this.#recentNext = (this.#recentNext + 1) % recentMax;
    return properties;
  }

  /** The properties of those buckets of a type that have set none; undefined for an unknown type. */
  ofType(type: ByteString): BucketProperties | undefined {
    return this.#types.get(type)?.properties;
  }

  /** Whether the bucket type exists: configured, or created at run time. */
  knowsType(type: ByteString): boolean {
    return this.#types.has(type);
  }

  /** The names of all bucket types, `default` first, the others sorted. */
  typeNames(): readonly ByteString[] {
    const others = [...this.#types.keys()].filter((type) => type !== 'default');
    return ['default' as ByteString, ...others.sort()];
  }

  /** The buckets and types that route by the Wasm module `moduleId`, as phrases for an error message. */
  routedBy(moduleId: string): readonly string[] {
    const routes = ({ chashKeyfun, wasmKeyfun }: BucketProperties): boolean =>
      chashKeyfun === 'CUSTOM' && wasmKeyfun === moduleId;
    return [...this.#types].flatMap(([type, { properties, buckets }]) => [
      ...(routes(properties) ? [`buckets of the type ${textOf(type)}`] : []),
      ...[...buckets]
        .filter(([, own]) => routes(own))
        .map(([bucket]) => `the bucket ${textOf(type)}/${textOf(bucket)}`),
    ]);
  }

  /**
   * Merges `changes` (from the table's `changes`) into the table, resolves what they affect, and calls the listeners.
   */
  apply(changes: readonly NamedRecord[]): void {
    this.#table.apply(changes);
    this.epochs.note(changes);
    const parted = changes.map(partsOf);
    // A type's own record affects every bucket of the type.
    if (parted.some(({ bucket }) => bucket === '')) this.#types = this.#resolve(this.#table);
    else for (const one of parted) this.#resolveBucket(this.#types, one);
    this.#recent.length = 0;
    this.#recentNext = 0;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after every `apply`. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #resolve(table: PropertyTable): ReadonlyMap<ByteString, TypeRow> {
    const types = new Map<ByteString, TypeRow>();
    const enter = (type: ByteString, properties: BucketProperties): void => {
      types.set(type, { properties, buckets: new Map() });
    };
    for (const [name, properties] of this.#configured) enter(byteStringOf(name), properties);
    const records = [...table.records].map(([name, record]) => partsOf({ name, record }));
    for (const { type, bucket, set } of records) {
      if (bucket !== '') continue;
      const known = types.get(type)?.properties;
      if (known !== undefined) enter(type, withProperties(known, set));
      else if (set.get(typeMark) === true) enter(type, typeProperties(textOf(type), set));
    }
    for (const one of records) if (one.bucket !== '') this.#resolveBucket(types, one);
    return types;
  }

  #resolveBucket(types: ReadonlyMap<ByteString, TypeRow>, { type, bucket, set }: RecordParts): void {
    const row = types.get(type);
    if (row === undefined) return;
    if (set.size > 0) row.buckets.set(bucket, withProperties(row.properties, set));
    else row.buckets.delete(bucket);
  }
}

interface RecordParts {
  readonly type: ByteString;
  /** Empty: the record is the type's own. */
  readonly bucket: ByteString;
  readonly set: PropertySet;
}

function partsOf({ name, record }: NamedRecord): RecordParts {
  const { type, bucket } = splitRecordName(name) ?? { type: '' as ByteString, bucket: '' as ByteString };
  return { type, bucket, set: valuesOf(record) };
}
