/** Whose load a stored key belongs to, by its bucket. */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { unpackKey } from '../../engine/base/object-key.ts';
import { objectBuckets, redisBucket } from '../plan/plan.ts';

/** A client of single keys writes it. */
export function isOfObjectLoad(key: PackedKey): boolean {
  return objectBuckets.includes(bucketOf(key));
}

/** A client of single keys or a Redis client writes it: its writes are followed to every replica (write-spread.ts). */
export function isOfSpreadLoad(key: PackedKey): boolean {
  const bucket = bucketOf(key);
  return bucket === redisBucket || objectBuckets.includes(bucket);
}

function bucketOf(key: PackedKey): string {
  const name = unpackKey(key);
  return name === undefined ? '' : textOf(name.bucket);
}
