/**
 * The epochs of buckets. A flush of a bucket begins a new epoch. The epoch is a part of every packed key of the bucket
 * (`base/object-key.ts`), so what was written in a former epoch is under keys that no request names any more.
 *
 * Each node knows the epochs by the bucket's property record, where an epoch is the stamp of one register: the highest
 * one stands, and settings and resets of properties leave it alone (`registers.ts`). Clients never see an epoch: listeners
 * name an object by its first packed form, and `present` gives it the bucket's present one on the way to the replicas.
 */
import murmurHash3 from 'murmurhash3js-revisited';

import type { ByteString, NodeId } from '../base/ids.ts';
import type { ObjectKey, PackedKey } from '../base/object-key.ts';
import {
  bucketOfPacked,
  bucketPrefix,
  epochOf,
  hasEpoch,
  underPrefix,
  unpackKey,
} from '../base/object-key.ts';
import type { NamedRecord } from './property-codec.ts';
import { epochIn } from './registers.ts';

/** A packed key's epoch, compared with the one of its bucket that this node knows. */
export type Standing = 'present' | 'former' | 'later';

/** Epochs of the same millisecond by which nodes differ: two flushes that do not know of each other differ, too. */
const epochsPerMs = 1024;

interface Known {
  readonly epoch: number;
  /** What the bucket's packed keys begin with in this epoch. */
  readonly prefix: string;
}

/** The epochs that one node knows. */
export class Epochs {
  /** By the name of the bucket's record: the prefix of its packed keys in epoch 0. Buckets in epoch 0 have no entry. */
  readonly #known = new Map<string, Known>();
  /** The prefix of the present keys that were judged last. */
  #lastPrefix = '';
  #changed: () => void = () => undefined;

  /** Whether any bucket was ever flushed. */
  get any(): boolean {
    return this.#known.size > 0;
  }

  /** The epoch of a bucket. */
  of(type: ByteString, bucket: ByteString): number {
    return this.#known.size === 0 ? 0 : (this.#known.get(bucketPrefix(type, bucket))?.epoch ?? 0);
  }

  /** As `of`, by the name of the bucket's property record. */
  ofRecord(name: string): number {
    return this.#known.get(name)?.epoch ?? 0;
  }

  /** The prefix of the packed keys of a bucket in its present epoch. */
  prefixOf(type: ByteString, bucket: ByteString): string {
    return this.prefixOfRecord(bucketPrefix(type, bucket));
  }

  /** As `prefixOf`, by the name of the bucket's property record. */
  prefixOfRecord(name: string): string {
    return this.#known.get(name)?.prefix ?? name;
  }

  /** The object's name with the packed key of its bucket's present epoch. */
  present(key: ObjectKey): ObjectKey {
    if (this.#known.size === 0 && !hasEpoch(key.packed)) return key;
    const prefix = this.prefixOf(key.type, key.bucket);
    return key.packed.startsWith(prefix) && key.packed.length === prefix.length + key.key.length
      ? key
      : underPrefix(key, prefix);
  }

  /** How the key's epoch stands to the one that this node knows. Keys of the engine's own records are present. */
  judge(packed: PackedKey): Standing {
    if (this.#known.size === 0 && !hasEpoch(packed)) return 'present';
    if (this.#lastPrefix !== '' && packed.startsWith(this.#lastPrefix)) return 'present';
    if (unpackKey(packed) === undefined) return 'present';
    const known = this.#known.get(bucketOfPacked(packed));
    const epoch = epochOf(packed);
    const present = known?.epoch ?? 0;
    if (known !== undefined && epoch === present) this.#lastPrefix = known.prefix;
    if (epoch === present) return 'present';
    return epoch < present ? 'former' : 'later';
  }

  /** Whether the key is of a former epoch: its object was flushed. */
  isFormer(packed: PackedKey): boolean {
    return this.#known.size > 0 && this.judge(packed) === 'former';
  }

  /** Calls `listener` whenever a bucket has a new epoch. */
  onChange(listener: () => void): void {
    this.#changed = listener;
  }

  /** Puts the epochs of the records into effect. */
  note(records: readonly NamedRecord[]): void {
    let isNew = false;
    for (const { name, record } of records) {
      const epoch = epochIn(record);
      if (epoch <= this.ofRecord(name)) continue;
      const key = unpackKey(`${name}k` as PackedKey);
      if (key === undefined) continue;
      this.#known.set(name, { epoch, prefix: bucketPrefix(key.type, key.bucket, epoch) });
      this.#lastPrefix = '';
      isNew = true;
    }
    if (isNew) this.#changed();
  }

  /** An epoch above the one known here, at `wallMs` by this node's clock: no other node chooses the same. */
  next(name: string, self: NodeId, wallMs: number): number {
    const known = Math.floor(this.ofRecord(name) / epochsPerMs);
    const own = murmurHash3.x86.hash32(Buffer.from(self)) % epochsPerMs;
    return Math.max(known + 1, wallMs) * epochsPerMs + own;
  }
}
