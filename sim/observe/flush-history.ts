/**
 * The epochs of buckets that were flushed, from the property records on the nodes' disks: an object under an earlier one
 * was flushed.
 */
import { ByteReader } from '../../engine/base/bytes.ts';
import { tryDecode } from '../../engine/base/decoding.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { bucketOfPacked, bucketPrefix, epochOf, unpackKey } from '../../engine/base/object-key.ts';
import { readRecord } from '../../engine/buckets/property-codec.ts';
import { epochIn } from '../../engine/buckets/registers.ts';

const recordPrefix = bucketPrefix('' as ByteString, byteStringOf('props'));

/** Whether a key of the engine's own is a property record. */
export function isPropertyRecord(key: PackedKey): boolean {
  return key.startsWith(recordPrefix);
}

/** The highest epoch of each bucket that any property record names. */
export class FlushHistory {
  readonly #epochs = new Map<string, number>();

  /** Learns from a record of the engine's own; ignores removals, and those that are no property records. */
  learn(key: PackedKey, value: Uint8Array | undefined): void {
    if (value === undefined || !isPropertyRecord(key)) return;
    const found = tryDecode(() => readRecord(new ByteReader(Uint8Array.from(value))));
    const epoch = found === undefined ? 0 : epochIn(found.record);
    if (found === undefined || epoch <= (this.#epochs.get(found.name) ?? 0)) return;
    this.#epochs.set(found.name, epoch);
  }

  /** Whether the key's bucket was flushed since. */
  isFlushed(key: PackedKey): boolean {
    if (this.#epochs.size === 0 || unpackKey(key) === undefined) return false;
    return epochOf(key) < (this.#epochs.get(bucketOfPacked(key)) ?? 0);
  }
}
