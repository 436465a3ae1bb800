/** Finds when nodes removed a deletion's tombstone for good, and how old it was then. Pure: it reads recordings. */
import type { Recording } from './recording.ts';

/** How a recording describes a copy without a value: a tombstone. */
const tombstoneForm = /^a tombstone /;
/** A start that reads a disk takes at most so long, in microseconds. */
const startUs = 1_000_000;

/** A node's disk holds nothing under a key any more, where it held a tombstone. */
export interface ReapedTombstone {
  readonly lane: number;
  readonly atUs: number;
  /** How long the node has held the tombstone, in microseconds. */
  readonly ageUs: number;
}

/** The tombstones of a key that nodes reaped up to the violation, the youngest first. */
export function reapedTombstonesOf(run: Recording, key: number): readonly ReapedTombstone[] {
  const endUs = run.concern?.atUs ?? Number.POSITIVE_INFINITY;
  const since = new Map<number, number>();
  const reaped: ReapedTombstone[] = [];
  for (const { lane, atUs, text, key: about } of run.states) {
    if (about !== key || atUs > endUs) continue;
    const wroteUs = since.get(lane);
    if (text === 'nothing' && wroteUs !== undefined && !isStarting(run, lane, atUs))
      reaped.push({ lane, atUs, ageUs: atUs - wroteUs });
    since.delete(lane);
    if (tombstoneForm.test(text)) since.set(lane, atUs);
  }
  return reaped.toSorted((left, right) => left.ageUs - right.ageUs);
}

/** Whether a node that starts finds that its disk has lost the copy. */
function isStarting({ marks }: Recording, lane: number, atUs: number): boolean {
  return marks.some(
    (mark) =>
      mark.lane === lane &&
      mark.kind === 'start' &&
      mark.atUs <= atUs &&
      mark.atUs > atUs - startUs &&
      mark.atUs > 0,
  );
}
