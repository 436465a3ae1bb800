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
  /** A value that it holds instead, of the same actor as the lost one: for every replica it has seen the lost one. */
  readonly sameActor?: { readonly value: string; readonly actor: string };
  /** How many other values of the key it held before, and holds no longer. */
  readonly othersLost: number;
  /** What made it so, as far as the recording shows: clauses after a comma. */
  readonly reasons: readonly string[];
}

/** The first losses of a write's value up to the violation, in the order of time; the write names the value: `«w:c2:13»`. */
export function lostValuesOf(run: Recording, write: RecordedOperation): readonly LostValue[] {
  const tag = /«[^»]+»/.exec(write.text)?.[0];
  const [key] = write.about;
  const endUs = run.concern?.atUs ?? Number.POSITIVE_INFINITY;
  if (tag === undefined || key === undefined) return [];
  const holding = new Map<number, HeldState>();
  const lost = new Map<number, { readonly before: HeldState; readonly state: HeldState }>();
  for (const state of run.states) {
    if (state.key !== key || state.atUs > endUs) continue;
    const before = holding.get(state.lane);
    if (state.text.includes(tag)) holding.set(state.lane, state);
    else if (before !== undefined && !lost.has(state.lane)) lost.set(state.lane, { before, state });
  }
  return [...lost.values()]
    .toSorted((left, right) => left.state.atUs - right.state.atUs)
    .map(({ before, state }) => {
      const { lane, atUs, text } = state;
      const sameActor = successorOf(tag, before, state, `${run.lanes[lane]?.name ?? ''}.`);
      const others = valuesIn(before).filter((value) => value !== tag && !text.includes(value)).length;
      return {
        ...{ lane, atUs, holds: text.replace(/ \(\d+ bytes\)$/, ''), othersLost: others },
        ...{ reasons: reasonsOf(run, state), ...(sameActor === undefined ? {} : { sameActor }) },
      };
    });
}

function valuesIn({ text }: HeldState): readonly string[] {
  return text.match(/«[^»]+»/g) ?? [];
}

/** The value of the new copy that the actor of the lost one wrote; only where values of a key stand beside each other. */
function successorOf(
  tag: string,
  before: HeldState,
  state: HeldState,
  nodePrefix: string,
): LostValue['sameActor'] {
  const values = valuesIn(before);
  const actor = values.length < 2 ? undefined : before.actors?.[values.indexOf(tag)];
  if (actor?.startsWith(nodePrefix) !== true) return undefined;
  const value = valuesIn(state)[state.actors?.indexOf(actor) ?? -1];
  return value === undefined ? undefined : { value, actor };
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
