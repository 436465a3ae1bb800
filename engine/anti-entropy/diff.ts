/**
 * What an exchange decides, as values: which ranges differ, which keys, and what becomes of a key that does.
 */
import { BytesError } from '../base/bytes.ts';
import { assert } from '../base/assert.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { decodeObject, mergeObjects, resolveToNewest, sameObject } from '../replica/object/object.ts';
import type { Entry } from './refresh.ts';
import type { RangeHash, TokenRange } from './tree.ts';
import { sameHash } from './tree.ts';

/** The ranges whose hashes differ, in order. */
export function diffTrees(
  ranges: readonly TokenRange[],
  mine: readonly RangeHash[],
  theirs: readonly RangeHash[],
): readonly TokenRange[] {
  return ranges.filter((_, index) => {
    const [left, right] = [mine[index], theirs[index]];
    assert(left !== undefined && right !== undefined, 'both sides told a hash for every range');
    return !sameHash(left, right);
  });
}

/** A key that one side lacks, or that the sides hold differently. */
export interface Suspect {
  readonly key: PackedKey;
  readonly token: number;
}

/** The symmetric difference of two lists in the order of their keys. */
export function diffEntries(mine: readonly Entry[], theirs: readonly Entry[]): readonly Suspect[] {
  const suspects: Suspect[] = [];
  let at = 0;
  for (const entry of mine) {
    let other = theirs[at];
    while (other !== undefined && other.key < entry.key) {
      suspects.push({ key: other.key, token: other.token });
      other = theirs[++at];
    }
    if (other?.key === entry.key) {
      at += 1;
      if (sameHash(other.hash, entry.hash)) continue;
    }
    suspects.push({ key: entry.key, token: entry.token });
  }
  return [...suspects, ...theirs.slice(at).map(({ key, token }) => ({ key, token }))];
}

export type Verdict =
  /** The same bytes on both sides: what looked divergent was on its way. */
  | 'equal'
  /** This side's object has all that the other side's has, and more: it is sent there. */
  | 'push'
  /** The other way around: it is fetched. */
  | 'pull'
  /** Neither has all: each side gets what the other one has. */
  | 'siblings'
  /** Other bytes under the same clock, or bytes that are no object: no causality tells what is right. */
  | 'ambiguousClock';

/** What becomes of a key that holds these bytes here and there. `allowMult`: its bucket keeps siblings. */
export function judge(
  mine: Uint8Array | undefined,
  theirs: Uint8Array | undefined,
  allowMult: boolean,
): Verdict {
  if (mine === undefined) return theirs === undefined ? 'equal' : 'pull';
  if (theirs === undefined) return 'push';
  if (Buffer.compare(mine, theirs) === 0) return 'equal';
  const [left, right] = [decode(mine), decode(theirs)];
  if (left === undefined || right === undefined) return 'ambiguousClock';
  const both = mergeObjects(left, right);
  const merged = allowMult ? both : resolveToNewest(both);
  const isMine = sameObject(merged, left);
  const isTheirs = sameObject(merged, right);
  if (isMine && isTheirs) return 'ambiguousClock';
  if (isMine) return 'push';
  return isTheirs ? 'pull' : 'siblings';
}

function decode(bytes: Uint8Array): StoredObject | undefined {
  try {
    return decodeObject(bytes);
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}
