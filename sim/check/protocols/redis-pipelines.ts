/**
 * `session-guarantees` (INV20) over pipelines of Redis commands, key by key. One command surely precedes another on its
 * key if it stands before it in the same pipeline, or was answered before the other's pipeline was sent. Then:
 *
 * - each reply has the form of its own command, and a value that it shows was written to that key by a command that did
 *   not certainly fail;
 * - no command is shown a value, or none, that an acknowledged change surely replaced: so a read behind a write of its
 *   own pipeline reflects it, and no acknowledged write is lost;
 * - no two acknowledged commands replace one value that both were shown (INCR, GETSET, GETDEL, SET GET), unless a plain
 *   SET that had not ended brought it: it may have to write the value again, after the first of them;
 * - once two values are acknowledged, no client is shown the one after another client was shown the other.
 *
 * A change of unknown outcome may have happened at any time after it was sent, or never. Skipped: errors, values of
 * changes of unknown outcome, and keys of transactions that an operator's decision left with two outcomes.
 */
import type { LevelReach } from '../../evidence/level-reach.ts';
import { mustSee } from '../../evidence/level-reach.ts';
import { valueSpacing } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import { isMixed } from './redis-mixed.ts';
import type { PipelineStep } from './pipeline-steps.ts';
import { describeStep, originOf, precedes, stepsByKey } from './pipeline-steps.ts';

/** Checks every pipeline of the records. `mixed`: keys to skip (`redis-mixed.ts`). */
export function checkRedisPipelines(
  records: readonly RedisRecord[],
  reach: LevelReach,
  mixed: ReadonlySet<string> = new Set(),
): CheckReport {
  const tally = new Tally('session-guarantees');
  const keys = stepsByKey(records, tally);
  for (const [key, steps] of keys) {
    if (isMixed(mixed, key)) {
      tally.skip();
      continue;
    }
    const sees = mustSeeEachOther(steps, reach);
    checkShown(steps, sees, tally);
    checkReplacedOnce(steps, tally);
    if (sees) checkSettled(steps, tally);
  }
  return tally.report();
}

/** Whether the configured levels make every step see those that were acknowledged before it. */
function mustSeeEachOther(steps: readonly PipelineStep[], reach: LevelReach): boolean {
  const [first] = steps;
  return first === undefined || steps.every(({ record }) => mustSee(reach, first.record, record));
}

/**
 * No step is shown what no command wrote, or, if the levels make steps see each other (`sees`), what an acknowledged
 * change surely replaced.
 */
function checkShown(steps: readonly PipelineStep[], sees: boolean, tally: Tally): void {
  const changes = steps.filter(({ outcome, leaves }) => outcome === 'ok' && leaves !== undefined);
  const writers = new Map<number, PipelineStep>();
  for (const step of steps) if (typeof step.leaves === 'number') writers.set(step.leaves, step);
  for (const read of steps) {
    if (read.shown === undefined) continue;
    const origin = read.shown === 'nil' ? 0 : originOf(read.shown);
    if (read.shown === 'nil' || origin === 0) {
      if (sees) checkAbsence(read, steps, changes, tally);
      else tally.skip();
      continue;
    }
    const written = writers.get(origin);
    tally.compare(written !== undefined && written.outcome !== 'fail', read.doneUs, () => {
      const by = written === undefined ? 'no command wrote it' : `it was refused: ${describeStep(written)}`;
      return `${describeStep(read)}: ${by}`;
    });
    const writer = writers.get(read.shown);
    // Without one, an increment of unknown outcome left it.
    if (writer === undefined || writer.outcome !== 'ok' || !sees) {
      tally.skip();
      continue;
    }
    const later = changes.find((change) => precedes(writer, change) && precedes(change, read));
    tally.compare(later === undefined, read.doneUs, () => {
      return `${describeStep(read)}: ${later === undefined ? '' : describeStep(later)} had replaced that of ${describeStep(writer)}`;
    });
  }
}

/** A step is shown nothing, or a number that begins with nothing: no acknowledged value is surely there. */
function checkAbsence(
  read: PipelineStep,
  steps: readonly PipelineStep[],
  changes: readonly PipelineStep[],
  tally: Tally,
): void {
  const deletions = steps.filter(({ leaves, outcome }) => leaves === 'nil' && outcome !== 'fail');
  const values = changes.filter(({ leaves }) => typeof leaves === 'number' && leaves >= valueSpacing);
  const kept = values.find((change) => {
    if (!precedes(change, read)) return false;
    return !deletions.some((deletion) => !precedes(deletion, change) && !precedes(read, deletion));
  });
  tally.compare(kept === undefined, read.doneUs, () => {
    return `${describeStep(read)}: no command deleted that of ${kept === undefined ? '' : describeStep(kept)}`;
  });
}

/** The writer is a plain SET that had not surely ended when `other` was shown its value. */
function mayWriteTwice(writer: PipelineStep | undefined, other: PipelineStep): boolean {
  if (writer === undefined || precedes(writer, other)) return false;
  return writer.kind === 'set' || writer.kind === 'set-ex';
}

/** No two acknowledged steps replaced the same value. */
function checkReplacedOnce(steps: readonly PipelineStep[], tally: Tally): void {
  const replacers = new Map<number, PipelineStep>();
  const writers = new Map<number, PipelineStep>();
  for (const step of steps) if (typeof step.leaves === 'number') writers.set(step.leaves, step);
  for (const step of steps) {
    const { shown, outcome, leaves } = step;
    if (outcome !== 'ok' || leaves === undefined || typeof shown !== 'number') continue;
    if (originOf(shown) === 0) continue;
    const other = replacers.get(shown);
    if (other !== undefined && mayWriteTwice(writers.get(shown), other)) {
      tally.skip();
      continue;
    }
    tally.compare(other === undefined, step.doneUs, () => {
      return `two commands replaced ${shown}: ${other === undefined ? '' : describeStep(other)}, ${describeStep(step)}`;
    });
    replacers.set(shown, step);
  }
}

/** Of two acknowledged values, the one that a reader was shown is the newer for every later reader. */
function checkSettled(steps: readonly PipelineStep[], tally: Tally): void {
  const writers = new Map<number, PipelineStep>();
  for (const step of steps) {
    if (typeof step.leaves === 'number' && step.outcome === 'ok') writers.set(step.leaves, step);
  }
  const reads = steps.flatMap((read) => {
    const writer = typeof read.shown === 'number' ? writers.get(read.shown) : undefined;
    return writer === undefined || originOf(Number(read.shown)) === 0 ? [] : [{ read, writer }];
  });
  for (const { read, writer } of reads) {
    const before = reads.find((earlier) => {
      if (earlier.writer === writer || !precedes(earlier.read, read)) return false;
      if (writer.doneUs >= earlier.read.record.invokedUs) return false;
      return earlier.writer.doneUs < read.record.invokedUs;
    });
    tally.compare(before === undefined, read.doneUs, () => {
      return `${describeStep(read)}: the newer value was shown before: ${before === undefined ? '' : describeStep(before.read)}`;
    });
  }
}
