/**
 * The properties of every bucket as this node knows them: Riak's defaults, over them what the configuration says of
 * the bucket's type, over them what was set of the type, over them what was set of the bucket.
 */
import type { ByteString } from '../base/ids.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix, unpackKey } from '../base/object-key.ts';
import type { BucketProperties, PropertySet } from './properties.ts';
import { defaultProperties, typeProperties, withProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import { splitRecordName } from './property-codec.ts';
import { PropertyTable } from './property-table.ts';
import { valuesOf } from './registers.ts';

/** A bucket type that was made at run time has this register, true, in its record. */
export const typeMark = 'type';

interface TypeRow {
  readonly properties: BucketProperties;
  /** Of the buckets with a record of their own. */
  readonly buckets: Map<ByteString, BucketProperties>;
}

/** A bucket by what its keys begin with; no other bucket's keys do. */
interface RecentBucket {
  readonly prefix: string;
  readonly properties: BucketProperties;
}

/** More would cost as much to look through as the key to take apart. */
const recentMax = 4;

export class Buckets {
  readonly #configured: ReadonlyMap<string, BucketProperties>;
  readonly #listeners: (() => void)[] = [];
  readonly #table: PropertyTable;
  #types: ReadonlyMap<ByteString, TypeRow>;
  /** The buckets that were asked for last: every request asks several times, and has no other key than the form. */
  readonly #recent: RecentBucket[] = [];
  #recentNext = 0;

  /** `configured`: the configured bucket types by name. */
  constructor(configured: ReadonlyMap<string, BucketProperties>, table = new PropertyTable()) {
    this.#configured = configured;
    this.#table = table;
    this.#types = this.#resolve(table);
  }

  get table(): PropertyTable {
    return this.#table;
  }

  of(type: ByteString, bucket: ByteString): BucketProperties {
    const row = this.#types.get(type);
    if (row === undefined) return defaultProperties;
    return row.buckets.get(bucket) ?? row.properties;
  }

  /** Of the bucket of a key in its packed form. */
  ofKey(packed: PackedKey): BucketProperties {
    for (const { prefix, properties } of this.#recent) if (packed.startsWith(prefix)) return properties;
    const key = unpackKey(packed);
    if (key === undefined) return defaultProperties;
    const properties = this.of(key.type, key.bucket);
    this.#recent[this.#recentNext] = { prefix: bucketPrefix(key.type, key.bucket), properties };
    this.#recentNext = (this.#recentNext + 1) % recentMax;
    return properties;
  }

  /** Of the buckets of a type that have set none; undefined for an unknown type. */
  ofType(type: ByteString): BucketProperties | undefined {
    return this.#types.get(type)?.properties;
  }

  /** The bucket type exists. */
  knowsType(type: ByteString): boolean {
    return this.#types.has(type);
  }

  /** The names of all bucket types, `default` first, the others sorted. */
  typeNames(): readonly ByteString[] {
    const others = [...this.#types.keys()].filter((type) => type !== 'default');
    return ['default' as ByteString, ...others.sort()];
  }

  /** Buckets and types whose keys go where a Wasm module says, in words for people. */
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

  /** From now on these records, changes of the table, hold. */
  apply(changes: readonly NamedRecord[]): void {
    this.#table.apply(changes);
    const parted = changes.map(partsOf);
    // A type's own record is every bucket's of the type.
    if (parted.some(({ bucket }) => bucket === '')) this.#types = this.#resolve(this.#table);
    else for (const one of parted) this.#resolveBucket(this.#types, one);
    this.#recent.length = 0;
    this.#recentNext = 0;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after every change. */
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
