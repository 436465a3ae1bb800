/**
 * The property records that a node knows, with a digest for gossip. Merging has two steps, so that the caller can make
 * the changes durable in between: `changes` computes what is new, `apply` puts it into effect.
 */
import murmurHash3 from 'murmurhash3js-revisited';

import { ByteWriter } from '../base/bytes.ts';
import type { NamedRecord } from './property-codec.ts';
import { writeRecord } from './property-codec.ts';
import type { PropertyRecord } from './registers.ts';
import { emptyRecord, highestStamp, mergeRecords, sameRecord } from './registers.ts';

/** Property records by name, merged by `registers.ts`. */
export class PropertyTable {
  readonly #records = new Map<string, PropertyRecord>();
  #highest = 0;
  #digest: string | undefined;

  constructor(records: readonly NamedRecord[] = []) {
    this.apply(this.changes(records));
  }

  /** All records by name. */
  get records(): ReadonlyMap<string, PropertyRecord> {
    return this.#records;
  }

  /** The records that change if `incoming` is merged: each changed record, merged with the one known here. */
  changes(incoming: readonly NamedRecord[]): readonly NamedRecord[] {
    const changed = new Map<string, PropertyRecord>();
    for (const { name, record } of incoming) {
      const known = changed.get(name) ?? this.#records.get(name) ?? emptyRecord;
      const merged = mergeRecords(known, record);
      if (!sameRecord(merged, known)) changed.set(name, merged);
    }
    return [...changed].map(([name, record]) => ({ name, record }));
  }

  /** Puts records that `changes` returned into the table. */
  apply(changes: readonly NamedRecord[]): void {
    for (const { name, record } of changes) {
      this.#records.set(name, record);
      this.#highest = Math.max(this.#highest, highestStamp(record));
    }
    if (changes.length > 0) this.#digest = undefined;
  }

  /** The records whose names follow `name`, sorted by name; all of them for ''. */
  after(name: string): readonly NamedRecord[] {
    return this.#sorted().filter((one) => one.name > name);
  }

  /** Hash of all records; '' if there are none. Two nodes with the same digest have nothing to send each other. */
  get digest(): string {
    if (this.#records.size === 0) return '';
    this.#digest ??= murmurHash3.x86.hash128(this.#encode());
    return this.#digest;
  }

  /** The highest counter of any stamp; 0 without records. */
  get highest(): number {
    return this.#highest;
  }

  /** Canonical encoding: equal tables have equal bytes. */
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
