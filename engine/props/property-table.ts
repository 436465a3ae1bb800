/** All records of properties that a node knows, as one value: merging gives another one. */
import murmurHash3 from 'murmurhash3js-revisited';

import { ByteWriter } from '../base/bytes.ts';
import type { NamedRecord } from './property-codec.ts';
import { writeRecord } from './property-codec.ts';
import type { PropertyRecord } from './registers.ts';
import { emptyRecord, highestStamp, mergeRecords, sameRecord } from './registers.ts';

export class PropertyTable {
  readonly records: ReadonlyMap<string, PropertyRecord>;
  #digest: string | undefined;

  constructor(records: ReadonlyMap<string, PropertyRecord> = new Map()) {
    this.records = records;
  }

  /** This table and these records; itself when they say nothing new. */
  merged(incoming: readonly NamedRecord[]): PropertyTable {
    let changed: Map<string, PropertyRecord> | undefined;
    for (const { name, record } of incoming) {
      const known = (changed ?? this.records).get(name) ?? emptyRecord;
      const merged = mergeRecords(known, record);
      if (sameRecord(merged, known)) continue;
      changed ??= new Map(this.records);
      changed.set(name, merged);
    }
    return changed === undefined ? this : new PropertyTable(changed);
  }

  /** The records after the one of that name ('': all), by name. */
  after(name: string): readonly NamedRecord[] {
    return this.#sorted().filter((one) => one.name > name);
  }

  /** Names this knowledge and no other: nodes that show the same one have nothing to tell each other. */
  get digest(): string {
    if (this.records.size === 0) return '';
    this.#digest ??= murmurHash3.x86.hash128(this.encode());
    return this.#digest;
  }

  /** The highest counter of any stamp. */
  get highest(): number {
    let highest = 0;
    for (const record of this.records.values()) highest = Math.max(highest, highestStamp(record));
    return highest;
  }

  /** Canonical bytes: equal tables have equal ones. */
  encode(): Buffer {
    const writer = new ByteWriter(64 + this.records.size * 128);
    writer.varint(this.records.size);
    for (const one of this.#sorted()) writeRecord(writer, one);
    return writer.finish();
  }

  #sorted(): readonly NamedRecord[] {
    const named = [...this.records].map(([name, record]) => ({ name, record }));
    return named.sort((left, right) => (left.name < right.name ? -1 : 1));
  }
}
