/** Which part of a backup a restore writes: everything, a bucket type, or some buckets of it. */
import { LockstepError } from '../base/errors.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix, defaultType, unpackKey } from '../base/object-key.ts';

/** A bucket of a backup. */
export interface BackupBucket {
  readonly type: string;
  readonly bucket: string;
}

/** A part of a backup. */
export interface Selection {
  /** The buckets that were named; empty if none were. */
  readonly only: readonly string[];
  readonly isWanted: (key: PackedKey) => boolean;
  readonly isWantedBucket: (place: BackupBucket) => boolean;
  /** Whether the type's own properties are part of it. */
  readonly isWantedType: (type: string) => boolean;
}

/** All of a backup. */
export const wholeBackup: Selection = {
  only: [],
  isWanted: () => true,
  isWantedBucket: () => true,
  isWantedType: () => true,
};

const namesMax = 20;

/**
 * The buckets `only` of the type `type` (`default` unless given); all buckets of the type if there are none; everything
 * if neither is given. Throws `NotFound`, with the buckets that there are, if one is not among `known`.
 */
export function selectionOf(
  only: readonly string[],
  type: string | undefined,
  known: readonly BackupBucket[],
): Selection {
  if (only.length === 0 && type === undefined) return wholeBackup;
  const wanted = type ?? textOf(defaultType);
  const ofType = known.filter((place) => place.type === wanted);
  if (ofType.length === 0) throw missing(`no bucket of the type ${wanted}`, known);
  const unknown = only.find((bucket) => !ofType.some((place) => place.bucket === bucket));
  if (unknown !== undefined) throw missing(`no bucket ${unknown} of the type ${wanted}`, known);
  const typeBytes = byteStringOf(wanted);
  const prefixes = only.map((bucket) => bucketPrefix(typeBytes, byteStringOf(bucket)));
  return {
    only,
    isWanted: (key) =>
      prefixes.length === 0
        ? unpackKey(key)?.type === typeBytes
        : prefixes.some((prefix) => key.startsWith(prefix)),
    isWantedBucket: (place) => place.type === wanted && (only.length === 0 || only.includes(place.bucket)),
    isWantedType: (one) => one === wanted,
  };
}

function missing(what: string, known: readonly BackupBucket[]): LockstepError {
  const names = known.map(({ type, bucket }) =>
    type === textOf(defaultType) ? bucket : `${bucket} (--type ${type})`,
  );
  const more = names.length > namesMax ? `, and ${names.length - namesMax} more` : '';
  const there = names.length === 0 ? 'none' : `${names.slice(0, namesMax).join(', ')}${more}`;
  return new LockstepError('NotFound', `the backup has ${what}; it has ${there}`);
}
