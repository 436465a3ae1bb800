/**
 * `bucket-properties` (INV38): after the calm every node states the same properties of a bucket, and of the buckets of a
 * bucket type. They are those of one change, whole, or of none. That change was not made, by the operator's clock,
 * before another one that the same node acknowledged (in a run without faults: that any node acknowledged). A node that
 * has acknowledged a change no longer states what it stated before it: the change replaces whatever the node knew, by
 * whatever clock that was set. Two puts without a context leave two values where the properties allow siblings, and one
 * elsewhere.
 *
 * Changes through different nodes have no order that faults leave certain: the later one may carry the older stamp.
 * Skipped: tries whose requests failed, and changes whose node did not answer before and after, or whose disk may have
 * forgotten the change.
 */
import type {
  BucketChange,
  BucketEffect,
  BucketEvidence,
  BucketStatement,
  StatedProperties,
} from '../../evidence/bucket-changes.ts';
import { propertiesLeft, unmarked } from '../../evidence/bucket-changes.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The row of `bucket-properties`. */
export const bucketPropertiesRow = invariant({
  name: 'bucket-properties',
  code: 'INV38',
  promise: 'all nodes keep to the same properties of a bucket',
  gravity: 'data',
  breach: 'a node drops siblings that clients count on, or routes keys otherwise than others',
  needs: [],
  check: (run: { readonly bucketChanges: BucketEvidence; readonly undisturbed: boolean }) =>
    checkBucketProperties(run.bucketChanges, run.undisturbed),
});

/** How long after a change its node is asked what it states, at most, in virtual microseconds. */
const lookUsMax = 2_000_000;

/** `undisturbed`: the plan has no faults. */
export function checkBucketProperties(
  { changes, statements, effects, forgetful = [] }: BucketEvidence,
  undisturbed: boolean,
): CheckReport {
  const tally = new Tally('bucket-properties');
  for (const bucket of new Set(statements.map((one) => one.bucket))) {
    const stated = statements.filter((one) => one.bucket === bucket);
    const concerned = changes.filter((one) => one.bucket === bucket);
    compareStatements(stated, tally);
    const first = stated.find(({ seen }) => seen !== undefined);
    if (first?.seen !== undefined) compareWithChanges(first, first.seen, concerned, undisturbed, tally);
  }
  for (const change of changes) {
    if (!forgetful.includes(change.node)) compareWithBefore(change, changes, tally);
  }
  for (const effect of effects) compareEffect(effect, tally);
  return tally.report();
}

function compareStatements(stated: readonly BucketStatement[], tally: Tally): void {
  const first = stated.find(({ seen }) => seen !== undefined);
  for (const { node, bucket, atUs, seen } of stated) {
    tally.compare(seen !== undefined && isSame(seen, first?.seen), atUs, () =>
      seen === undefined
        ? `${node} did not state the properties of ${bucket}`
        : `${node} states ${shown(seen)} of ${bucket}, and ${first?.node ?? 'no node'} states ${shown(first?.seen)}`,
    );
  }
}

function compareWithChanges(
  { bucket, atUs }: BucketStatement,
  seen: StatedProperties,
  changes: readonly BucketChange[],
  undisturbed: boolean,
  tally: Tally,
): void {
  const sent = changes.filter(({ outcome }) => outcome !== 'fail');
  const fitting = sent.filter((change) => isSame(seen, propertiesLeft(change)));
  const isUntouched = isSame(seen, unmarked) && !changes.some(isSettingThatStands);
  tally.compare(isUntouched || fitting.length > 0, atUs, () => {
    return `${bucket} has ${shown(seen)}: no change of the operator's leaves that`;
  });
  if (isUntouched || fitting.length === 0) return;
  const replacing = fitting.map((one) => sent.find((other) => surelyFollows(other, one, undisturbed)));
  tally.compare(replacing.includes(undefined), atUs, () => {
    const [by] = replacing;
    return `${bucket} has ${shown(seen)}, although ${by?.node ?? ''} acknowledged the later change ${by?.id ?? ''} (mark ${by?.mark ?? 0})`;
  });
}

/** A change takes effect at its node. Another reset meanwhile may leave what was there before. */
function compareWithBefore(change: BucketChange, changes: readonly BucketChange[], tally: Tally): void {
  const { id, bucket, node, before, after, invokedUs, completedUs } = change;
  if (before === undefined || after === undefined || isSame(before, propertiesLeft(change))) return;
  const isRestored =
    isSame(after, unmarked) &&
    changes.some((one) => {
      const begins = one.invokedUs <= completedUs + lookUsMax;
      const lasts = one.outcome !== 'ok' || one.completedUs >= invokedUs;
      return one !== change && one.bucket === bucket && one.kind === 'reset' && begins && lasts;
    });
  if (isRestored) return tally.skip();
  tally.compare(!isSame(after, before), completedUs, () => {
    return `${node} acknowledged ${id} (mark ${change.mark}) of ${bucket}, and states ${shown(after)} as before it`;
  });
}

function isSettingThatStands({ kind, outcome }: BucketChange): boolean {
  return kind !== 'reset' && outcome === 'ok';
}

/** Whether `later` has the newer stamp for certain, and was acknowledged. */
function surelyFollows(later: BucketChange, earlier: BucketChange, undisturbed: boolean): boolean {
  if (later.outcome !== 'ok' || earlier.outcome !== 'ok') return false;
  return (later.node === earlier.node || undisturbed) && later.invokedUs > earlier.completedUs;
}

function compareEffect({ bucket, atUs, node, allowMult, values }: BucketEffect, tally: Tally): void {
  if (values === undefined) return tally.skip();
  const wanted = allowMult ? 2 : 1;
  tally.compare(values === wanted, atUs, () => {
    return `with allow_mult ${String(allowMult)}, ${node} shows ${values} values of ${bucket}, not ${wanted}`;
  });
}

function isSame(left: StatedProperties, right: StatedProperties | undefined): boolean {
  return (
    left.allow_mult === right?.allow_mult &&
    left.old_vclock === right.old_vclock &&
    left.big_vclock === right.big_vclock
  );
}

function shown(seen: StatedProperties | undefined): string {
  if (seen === undefined) return 'nothing';
  return `allow_mult ${String(seen.allow_mult)}, old_vclock ${seen.old_vclock}, big_vclock ${seen.big_vclock}`;
}
