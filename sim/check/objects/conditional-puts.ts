/**
 * `conditional-puts` (INV36): the replica that coordinates a put checks its condition (engine/docs/guarantees.md), so among the
 * puts of a key that one incarnation coordinated, nothing comes between a condition and its write:
 *
 * - a put that stated "unchanged" may have seen every put that the incarnation had given an earlier dot of the key;
 * - before a put that stated "absent", each such put may have been deleted;
 * - before a put that stated that the key does not hold some value, a write may have replaced or deleted that value, if
 *   its put had an earlier dot of the incarnation;
 * - a put is refused as "present" only if some put may have written the key by then.
 *
 * Who coordinated, and in which order, is read from the dots on the disks. Puts through different coordinators promise
 * nothing together. Skipped: puts whose dot reached no disk, and conditions by entity tag in buckets without siblings,
 * where a put that counts as older changes nothing that a tag names.
 */
import type { History, WriteOperation } from '../../evidence/history.ts';
import { byKey, describeOperation, isWrite } from '../../evidence/history.ts';
import type { CoordinatedAt } from '../../evidence/prunings.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { Causality } from './causality.ts';
import { causalityOf } from './causality.ts';

/** What clients did, and by tag the dot of each put that reached a disk. */
export interface ConditionalEvidence {
  readonly history: History;
  readonly coordinated: ReadonlyMap<string, CoordinatedAt>;
}

/** The row of `conditional-puts`. */
export const conditionalPutsRow = invariant({
  name: 'conditional-puts',
  code: 'INV36',
  promise: 'a coordinator checks a condition as it writes',
  gravity: 'data',
  breach: 'two puts through one replica that could not both succeed did',
  needs: ['disk-records'],
  check: ({ history, coordinated }: ConditionalEvidence) => checkConditionalPuts(history, coordinated),
});

/** Checks a history key by key; `coordinated`: by tag, the dots of puts. */
export function checkConditionalPuts(
  history: History,
  coordinated: ReadonlyMap<string, CoordinatedAt>,
): CheckReport {
  const tally = new Tally('conditional-puts');
  for (const operations of byKey(history).values()) checkKey(operations, coordinated, tally);
  return tally.report();
}

function checkKey(operations: History, coordinated: ReadonlyMap<string, CoordinatedAt>, tally: Tally): void {
  const writes = operations.filter(isWrite);
  const causality = causalityOf(operations);
  for (const put of writes) {
    if (put.condition === undefined) continue;
    if (put.unmet === true && put.condition === 'absent') checkRefusal(put, writes, tally);
    const own = coordinated.get(put.tag);
    if (own === undefined || (put.condition === 'tag' && !put.siblings)) {
      tally.skip();
      continue;
    }
    for (const other of writes) {
      const dot = other.kind === 'put' ? coordinated.get(other.tag) : undefined;
      if (dot?.actor !== own.actor || dot.counter >= own.counter) continue;
      if (put.condition === 'differs') {
        if (other.tag === put.excluded) checkExclusion(put, other, writes, causality, tally);
        continue;
      }
      const allowed =
        put.condition === 'absent'
          ? writes.some((deletion) => mayHaveDeleted(deletion, other, put, causality))
          : causality.perhaps(put, other);
      tally.compare(allowed, put.completedUs ?? put.invokedUs, () => {
        const why = put.condition === 'absent' ? 'the key held' : 'its writer had not seen';
        return `${describeOperation(put)}: stated ${String(put.condition)} at ${own.actor}, but ${why} ${describeOperation(other)}`;
      });
    }
  }
}

/** The deletion may have come between the put of `value` and `put`. */
function mayHaveDeleted(
  deletion: WriteOperation,
  value: WriteOperation,
  put: WriteOperation,
  causality: Causality,
): boolean {
  if (deletion.kind !== 'delete' || deletion.outcome === 'fail') return false;
  if (deletion.invokedUs > (put.completedUs ?? Infinity)) return false;
  return !put.siblings || causality.perhaps(deletion, value);
}

/** Nothing but a write that may have seen a value removes it from a key with siblings; from others, any write does. */
function checkExclusion(
  put: WriteOperation,
  value: WriteOperation,
  writes: readonly WriteOperation[],
  causality: Causality,
  tally: Tally,
): void {
  const endUs = put.completedUs ?? Infinity;
  const isGone = writes.some(
    (one) =>
      one.id !== put.id &&
      one.id !== value.id &&
      one.outcome !== 'fail' &&
      one.invokedUs <= endUs &&
      (!put.siblings || causality.perhaps(one, value)),
  );
  tally.compare(
    isGone,
    endUs,
    () =>
      `${describeOperation(put)}: stated that the key does not hold ${describeOperation(value)}, and nothing had replaced that`,
  );
}

/** Refused as present: some put may have been there. */
function checkRefusal(put: WriteOperation, writes: readonly WriteOperation[], tally: Tally): void {
  const endUs = put.completedUs ?? Infinity;
  const found = writes.some(
    (one) => one.kind === 'put' && one.id !== put.id && one.outcome !== 'fail' && one.invokedUs <= endUs,
  );
  tally.compare(
    found,
    endUs,
    () => `${describeOperation(put)}: refused, although no put can have been there`,
  );
}
