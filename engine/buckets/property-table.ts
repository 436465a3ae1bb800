/** All records of properties that a node knows. What is new in a record is merged in two steps: `changes`, then `apply`. */
import murmurHash3 from 'murmurhash3js-revisited';

import { ByteWriter } from '../base/bytes.ts';
import type { NamedRecord } from './property-codec.ts';
import { writeRecord } from './property-codec.ts';
import type { PropertyRecord } from './registers.ts';
import { emptyRecord, highestStamp, mergeRecords, sameRecord } from './registers.ts';

export class PropertyTable {
  readonly #records = new Map<string, PropertyRecord>();
  #highest = 0;
  #digest: string | undefined;

  constructor(records: readonly NamedRecord[] = []) {
    this.apply(this.changes(records));
  }

  get records(): ReadonlyMap<string, PropertyRecord> {
    return this.#records;
  }

  /** What these records say that is not known here: each changed record, merged with what is known of it. */
  changes(incoming: readonly NamedRecord[]): readonly NamedRecord[] {
    const changed = new Map<string, PropertyRecord>();
    for (const { name, record } of incoming) {
      const known = changed.get(name) ?? this.#records.get(name) ?? emptyRecord;
      const merged = mergeRecords(known, record);
      if (!sameRecord(merged, known)) changed.set(name, merged);
    }
    return [...changed].map(([name, record]) => ({ name, record }));
  }

  /** From now on these records, which `changes` gave, are known. */
  apply(changes: readonly NamedRecord[]): void {
    for (const { name, record } of changes) {
      this.#records.set(name, record);
      this.#highest = Math.max(this.#highest, highestStamp(record));
    }
    if (changes.length > 0) this.#digest = undefined;
  }

  /** The records after the one of that name ('': all), by name. */
  after(name: string): readonly NamedRecord[] {
    return this.#sorted().filter((one) => one.name > name);
  }

  /** Names this knowledge and no other: nodes that show the same one have nothing to tell each other. */
  get digest(): string {
    if (this.#records.size === 0) return '';
    this.#digest ??= murmurHash3.x86.hash128(this.#encode());
    return this.#digest;
  }

  /** The highest counter of any stamp. */
  get highest(): number {
    return this.#highest;
  }

  /** Canonical bytes: equal tables have equal ones. */
  #encode(): Buffer {
    const writer = new ByteWriter(64 + this.#records.size * 128);
    writer.varint(this.#records.size);
    for (const one of this.#sorted()) writeRecord(writer, one);
    return writer.finish();
  }

  #sorted(): readonly NamedRecord[] {
    const named = [...this.#records].map(([name, record]) => ({ name, record }));
    return named.sort((left, right) => (left.name < right.name ? -1 : 1));
  }
}
