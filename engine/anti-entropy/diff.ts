/**
 * The decisions of an exchange, as pure functions: which ranges differ, which keys differ, and how a key is repaired.
 */
import { tryDecode } from '../base/decoding.ts';
import { assert } from '../base/assert.ts';
import type { PackedKey } from '../base/object-key.ts';
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

/** A key that one side lacks, or that the two sides hold differently. */
export interface Suspect {
  readonly key: PackedKey;
  readonly token: number;
}

/** The symmetric difference of two lists, each sorted by key. */
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

/** How two copies of a key relate. */
export type Verdict =
  /** Both sides hold the same bytes: the difference was a write under way. */
  | 'equal'
  /** This side's object includes the other one's and more: it is sent there. */
  | 'push'
  /** The other side's object includes this one's and more: it is fetched. */
  | 'pull'
  /** Each side has something that the other lacks: both are exchanged. */
  | 'siblings'
  /** Different bytes under the same causal context, or bytes that are no object: causality cannot decide. */
  | 'ambiguousClock';

/** Compares the bytes that the two sides hold for a key. `allowMult`: its bucket keeps siblings. */
export function judge(
  mine: Uint8Array | undefined,
  theirs: Uint8Array | undefined,
  allowMult: boolean,
): Verdict {
  if (mine === undefined) return theirs === undefined ? 'equal' : 'pull';
  if (theirs === undefined) return 'push';
  if (Buffer.compare(mine, theirs) === 0) return 'equal';
  const [left, right] = [mine, theirs].map((bytes) => tryDecode(() => decodeObject(bytes)));
  if (left === undefined || right === undefined) return 'ambiguousClock';
  const both = mergeObjects(left, right);
  const merged = allowMult ? both : resolveToNewest(both);
  const isMine = sameObject(merged, left);
  const isTheirs = sameObject(merged, right);
  if (isMine && isTheirs) return 'ambiguousClock';
  if (isMine) return 'push';
  return isTheirs ? 'pull' : 'siblings';
}
