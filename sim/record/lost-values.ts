/**
 * Finds where a value that must last got lost: at each node that held it, the instant from which the node's disk holds
 * its key without it, what the node did then, and what reached it before. Pure: it reads recordings.
 */
import { deedOf, isEveryday } from './event-words.ts';
import type { HeldState, Mark, RecordedOperation, Recording } from './recording.ts';

/** What reached a node, or what it logged, so long before is taken for the reason, in microseconds. */
const reasonUs = 5000;

/** A node's disk no longer holds the value. */
export interface LostValue {
  readonly lane: number;
  readonly atUs: number;
  /** What it holds instead. */
  readonly holds: string;
  /** What made it so, as far as the recording shows: clauses after a comma. */
  readonly reasons: readonly string[];
}

/** The first losses of a write's value up to the violation, in the order of time; the write names the value: `«w:c2:13»`. */
export function lostValuesOf(run: Recording, write: RecordedOperation): readonly LostValue[] {
  const tag = /«[^»]+»/.exec(write.text)?.[0];
  const [key] = write.about;
  const endUs = run.concern?.atUs ?? Number.POSITIVE_INFINITY;
  if (tag === undefined || key === undefined) return [];
  const holding = new Set<number>();
  const lost = new Map<number, HeldState>();
  for (const state of run.states) {
    if (state.key !== key || state.atUs > endUs) continue;
    if (state.text.includes(tag)) holding.add(state.lane);
    else if (holding.has(state.lane) && !lost.has(state.lane)) lost.set(state.lane, state);
  }
  return [...lost.values()]
    .toSorted((left, right) => left.atUs - right.atUs)
    .map((state) => {
      const { lane, atUs, text } = state;
      return { lane, atUs, holds: text.replace(/ \(\d+ bytes\)$/, ''), reasons: reasonsOf(run, state) };
    });
}

function reasonsOf(run: Recording, { lane, atUs, key }: HeldState): readonly string[] {
  const { operations, messages, messageKinds, marks, lanes } = run;
  const isRecent = (us: number): boolean => us <= atUs && us >= atUs - reasonUs;
  const asked = operations.findLast(
    ({ node, invokedUs, completedUs, about, text }) =>
      node === lane &&
      about.includes(key) &&
      invokedUs <= atUs &&
      (completedUs < 0 || completedUs >= atUs) &&
      !/^#\d+ \S+ get /.test(text),
  );
  const reached = messages.findLast(
    ({ from, to, arrivedUs, about }) =>
      to === lane && lanes[from]?.kind === 'node' && isRecent(arrivedUs) && about.includes(key),
  );
  const died = marks.findLast((mark) => mark.lane === lane && mark.kind === 'crash' && mark.atUs <= atUs);
  const started = marks.findLast((mark) => mark.lane === lane && mark.kind === 'start' && mark.atUs <= atUs);
  const isStarting = started !== undefined && atUs - started.atUs < startUs && died !== undefined;
  const logged = marks.findLast(
    (mark) => mark.lane === lane && isRecent(mark.atUs) && mark.kind === 'log' && isTelling(mark, key),
  );
  return [
    asked === undefined ? '' : `as it carries out ${asked.text.split(': ', 1)[0] ?? ''}`,
    asked !== undefined || reached === undefined
      ? ''
      : `after the ${messageKinds[reached.kind] ?? 'message'} of ${lanes[reached.from]?.name ?? ''}`,
    isStarting ? `at its start after it died at ${(died.atUs / 1_000_000).toFixed(4)} s` : '',
    logged === undefined ? '' : `and ${deedOf(logged)}`,
  ].filter(Boolean);
}

/** A start that reads a disk takes at most so long, in microseconds. */
const startUs = 1_000_000;

function isTelling({ text, about }: Mark, key: number): boolean {
  return !isEveryday(text) && (about.length === 0 || about.includes(key));
}
