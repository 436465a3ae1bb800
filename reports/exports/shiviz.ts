/**
 * Renders a recorded run as a log for ShiViz (Beschastnikh and others, "Debugging Distributed Systems", CACM 2016): an
 * event per two lines, its text, then its host with a vector clock. ShiViz's default parser reads it:
 * `(?<event>.*)\n(?<host>\S*) (?<clock>{.*})`. Clocks follow from the messages: what a host does after it received a
 * message comes after all that its sender did before sending. Pure.
 */
import type { MarkKind, Recording } from '../../sim/record/recording.ts';

/** Marks that the log holds; disk syncs and lines of the engine's log would hide the messages. */
const shownMarks: ReadonlySet<MarkKind> = new Set([
  'crash',
  'start',
  'stop',
  'pause',
  'resume',
  'step',
  'ring',
  'fault',
]);

interface Step {
  readonly atUs: number;
  readonly lane: number;
  readonly text: string;
  /** A message that this step sends or receives. */
  readonly sends?: number;
  readonly receives?: number;
}

/** The log's text. */
export function shivizLog(recording: Recording): string {
  const { lanes } = recording;
  const clocks = lanes.map(() => new Map<number, number>());
  const sent = new Map<number, ReadonlyMap<number, number>>();
  const lines = stepsOf(recording).flatMap(({ lane, text, sends, receives }) => {
    const clock = clocks[lane];
    if (clock === undefined) return [];
    const heard = receives === undefined ? undefined : sent.get(receives);
    for (const [other, ticks] of heard ?? []) clock.set(other, Math.max(clock.get(other) ?? 0, ticks));
    clock.set(lane, (clock.get(lane) ?? 0) + 1);
    if (sends !== undefined) sent.set(sends, new Map(clock));
    const ticks = [...clock].map(([host, count]) => `${JSON.stringify(nameOf(recording, host))}:${count}`);
    return [text, `${nameOf(recording, lane)} {${ticks.join(',')}}`];
  });
  return `${lines.join('\n')}\n`;
}

function stepsOf({ messages, messageKinds, marks, operations, lanes }: Recording): readonly Step[] {
  const name = (lane: number): string => lanes[lane]?.name ?? '?';
  const ofMessages = messages.flatMap(({ from, to, sentUs, arrivedUs, kind }, number): readonly Step[] => {
    const what = messageKinds[kind] ?? 'message';
    const send = { atUs: sentUs, lane: from, text: `sends ${what} to ${name(to)}`, sends: number };
    if (arrivedUs < 0) return [{ ...send, text: `${send.text}; it never arrives` }];
    return [send, { atUs: arrivedUs, lane: to, text: `receives ${what} of ${name(from)}`, receives: number }];
  });
  const ofMarks = marks
    .filter(({ kind }) => shownMarks.has(kind))
    .map(({ atUs, lane, text }): Step => ({ atUs, lane, text: oneLine(text) }));
  const ofOperations = operations
    .filter(({ completedUs }) => completedUs >= 0)
    .map(({ completedUs, lane, text }): Step => ({ atUs: completedUs, lane, text: oneLine(text) }));
  // A message is sent before it is received, also where both are of one instant: the sort is stable.
  return [...ofMessages, ...ofMarks, ...ofOperations].toSorted((left, right) => left.atUs - right.atUs);
}

function nameOf({ lanes }: Recording, lane: number): string {
  return lanes[lane]?.name ?? '?';
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}
