/**
 * Versions of peer messages. A greeting states the range of versions that its node speaks, and a connection speaks the
 * highest that both sides have. A node of version N also speaks N-1, so a cluster is upgraded node by node.
 *
 * The header of a frame carries `wireVersion` instead (messages.ts). It stands for the layout of frames and greetings,
 * and stays as it is while versions of messages come and go, so nodes of any two versions can read each other's greeting
 * and say what is wrong.
 *
 * 3: messages of builds whose greeting states no range. 4: `upgrade`, by which a cluster is finalized, and objects whose
 * writes have a basis (replica/object/object.ts). 5: `mergeMany`, which brings the objects of many independent writes.
 * 6: `readMany`, which asks for the objects of many independent reads. 7: keys with an epoch (base/object-key.ts), and the
 * error `StaleEpoch`.
 */

/** The versions that a node speaks, both included. */
export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

/** What this build speaks. */
export const messageVersions: VersionRange = { min: 3, max: 7 };

/** Builds that speak this version read objects of format 2. */
export const objectFormat2Since = 4;

/** Builds that speak this version know the epochs of buckets. */
export const epochsSince = 7;

/** What a node speaks whose greeting states no range. */
export const unstatedVersions: VersionRange = { min: 3, max: 3 };

/** The requests that came after the lowest version that this build speaks, and the version that they came with. */
const since: ReadonlyMap<string, number> = new Map([
  ['upgrade', 4],
  ['mergeMany', 5],
  ['readMany', 6],
]);

/** The version that a connection between two nodes speaks; undefined if they have none in common. */
export function commonVersion(ours: VersionRange, theirs: VersionRange): number | undefined {
  const max = Math.min(ours.max, theirs.max);
  return max >= Math.max(ours.min, theirs.min) ? max : undefined;
}

/** Whether a request of this kind may be sent on a connection that speaks `version`. */
export function isSpoken(kind: string, version: number): boolean {
  return (since.get(kind) ?? messageVersions.min) <= version;
}

/** A range as text for people: `version 3`, or `versions 3 to 4`. */
export function rangeText({ min, max }: VersionRange): string {
  return min === max ? `version ${min}` : `versions ${min} to ${max}`;
}
