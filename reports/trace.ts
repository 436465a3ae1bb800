/**
 * Renders a recorded run as lines in the order of virtual time: what clients asked and what came of it, messages, disk
 * syncs, faults, steps of transactions, ring changes and events of the engine's log. Pure.
 *
 * `overview` never floods: of each virtual second it prints as many lines as fit a screen, the most telling ones, and
 * counts the others by their sort. `messages` prints all lines. Filters apply before that.
 */
import type { Lane, Mark, Message, Recording } from '../sim/record/recording.ts';
import { columnsMin, cutLine, fillList } from './columns.ts';
import { grouped } from './numbers.ts';

/** What to print. */
export interface TraceFilter {
  /** Hosts: lines that any of them takes part in. Empty: all. */
  readonly nodes: readonly string[];
  /** Keys (`k3` or `bucket/k3`): lines that mention one. Empty: all. */
  readonly keys: readonly string[];
  /** Transaction ids, or `#t12` for the transaction of that number; also the beginnings of ids. Empty: all. */
  readonly transactions: readonly string[];
  /** Beginnings of names of events (`xa.`, `disk.file.synced`), and `operation`, `message`. Empty: all. */
  readonly events: readonly string[];
  /** Virtual times in microseconds. */
  readonly fromUs: number;
  readonly untilUs: number;
}

/** A filter that keeps everything. */
export const everything: TraceFilter = {
  ...{ nodes: [], keys: [], transactions: [], events: [] },
  ...{ fromUs: 0, untilUs: Number.MAX_SAFE_INTEGER },
};

/** Lines of one virtual second in the overview; with its line of counts they fit a screen of 24 lines. */
const overviewLinesMax = 20;

/** How telling a line is: a smaller number is printed first. */
const ranks = { violation: 0, fault: 1, host: 2, failed: 3, unknown: 3, ring: 4, lost: 5, ok: 6, step: 7 };
const otherRank = 8;

interface Line {
  readonly atUs: number;
  readonly rank: number;
  /** What it counts as where it is not printed. */
  readonly sort: string;
  readonly hosts: readonly string[];
  /** Names of the keys and transactions that it is about. */
  readonly about: readonly string[];
  readonly event: string;
  readonly text: string;
}

/** The lines of the run that pass the filter. */
export function traceLines(
  recording: Recording,
  filter: TraceFilter,
  level: 'overview' | 'messages',
  columns = columnsMin,
): readonly string[] {
  const lines = [
    ...operationLines(recording),
    ...messageLines(recording),
    ...markLines(recording),
    ...endings(recording),
    ...violationLine(recording),
  ]
    .filter((line) => passes(line, filter))
    .toSorted((left, right) => left.atUs - right.atUs);
  const shown = level === 'messages' ? lines.map(textOf) : condensed(lines, columns);
  return recording.leftOut === 0
    ? shown
    : [...shown, `${grouped(recording.leftOut)} messages and marks are beyond what a recording holds.`];
}

/** One line for an operation of a client at its call, for the unfiltered trace beside the world's events. */
export function operationEvents(
  recording: Recording,
): readonly { readonly atUs: number; readonly text: string }[] {
  return operationLines(recording).map((line) => ({ atUs: line.atUs, text: textOf(line) }));
}

function operationLines({ operations, lanes, subjects }: Recording): readonly Line[] {
  return operations.flatMap(({ lane, node, invokedUs, completedUs, outcome, text, about, id }) => {
    const shared = {
      hosts: [nameOf(lanes, lane), ...(node < 0 ? [] : [nameOf(lanes, node)])],
      about: [...about.map((at) => subjects[at] ?? ''), id],
      event: 'operation',
    };
    // `#12 c1 put k3 at n2: ok in 3.1 ms`: what is asked stands before the colon.
    const asked = text.slice(0, Math.max(0, text.indexOf(': '))) || text;
    const call = { ...shared, atUs: invokedUs, rank: otherRank, sort: 'calls', text: `${asked} is asked` };
    if (completedUs < 0) return [{ ...call, rank: ranks.unknown, text: `${text}; no answer came` }];
    return [
      call,
      {
        ...shared,
        atUs: completedUs,
        rank: ranks[outcomeRank(outcome)],
        sort: `operations ${outcome}`,
        text,
      },
    ];
  });
}

function outcomeRank(outcome: string): 'ok' | 'failed' | 'unknown' {
  if (outcome === 'ok') return 'ok';
  return outcome === 'unknown' ? 'unknown' : 'failed';
}

function messageLines(recording: Recording): readonly Line[] {
  const { messages, messageKinds, lanes, subjects } = recording;
  return messages.map((message) => {
    const [from, to] = [nameOf(lanes, message.from), nameOf(lanes, message.to)];
    const names = message.about.map((at) => subjects[at] ?? '');
    const what = `${messageKinds[message.kind] ?? ''}${names.length === 0 ? '' : ` ${names.slice(0, 4).join(' ')}`}`;
    const lost = message.arrivedUs < 0;
    return {
      ...{
        atUs: message.sentUs,
        rank: lost && names.length > 0 ? ranks.lost : otherRank,
        sort: lost ? 'messages lost' : 'messages',
      },
      ...{ hosts: [from, to], about: names, event: 'message' },
      text: `${from} -> ${to} ${what} (${message.bytes} B) ${arrivalOf(message)}`,
    };
  });
}

function arrivalOf({ sentUs, arrivedUs, again }: Message): string {
  if (arrivedUs < 0) return 'never arrives';
  return `arrives ${((arrivedUs - sentUs) / 1000).toFixed(2)} ms later${again === true ? ', again' : ''}`;
}

const markRanks: Readonly<Partial<Record<Mark['kind'], number>>> = {
  ...{ crash: ranks.host, start: ranks.host, stop: ranks.host, pause: ranks.host, resume: ranks.host },
  ...{ fault: ranks.fault, ring: ranks.ring, step: ranks.step },
};

const markSorts: Readonly<Partial<Record<Mark['kind'], string>>> = {
  ...{ sync: 'disk syncs', step: 'transaction steps', ring: 'ring events', log: 'log events' },
};

function markLines({ marks, lanes, subjects }: Recording): readonly Line[] {
  return marks.map(({ lane, atUs, kind, text, about }) => ({
    ...{ atUs, rank: markRanks[kind] ?? otherRank, sort: markSorts[kind] ?? `${kind} events` },
    ...{ hosts: [nameOf(lanes, lane)], about: about.map((at) => subjects[at] ?? '') },
    event: kind === 'fault' ? 'fault' : (text.split(' ', 1)[0] ?? ''),
    text: `${nameOf(lanes, lane)} ${text}`,
  }));
}

/** The ends of faults that lasted. */
function endings({ bands, lanes }: Recording): readonly Line[] {
  return bands.map(({ fault, kind, lanes: places, toUs }) => ({
    ...{ atUs: toUs, rank: ranks.fault, sort: 'faults', about: [], event: 'fault' },
    ...{ hosts: places.map((place) => nameOf(lanes, place)), text: `${fault}: ${kind} is over` },
  }));
}

function violationLine({ concern, lanes, subjects }: Recording): readonly Line[] {
  if (concern === undefined) return [];
  const { atUs, invariant, text } = concern;
  return [
    {
      ...{ atUs, rank: ranks.violation, sort: 'violations', event: 'violation' },
      hosts: concern.lanes.map((lane) => nameOf(lanes, lane)),
      about: concern.subjects.map((at) => subjects[at] ?? ''),
      text: `!! ${invariant} breaks: ${text}`,
    },
  ];
}

function nameOf(lanes: readonly Lane[], lane: number): string {
  return lanes[lane]?.name ?? '?';
}

function passes(line: Line, { nodes, keys, transactions, events, fromUs, untilUs }: TraceFilter): boolean {
  const about = (wanted: string): boolean =>
    line.about.some((name) => name === wanted || (wanted.length >= 4 && name.startsWith(wanted)));
  return (
    line.atUs >= fromUs &&
    line.atUs <= untilUs &&
    (nodes.length === 0 || nodes.some((node) => line.hosts.includes(node))) &&
    (keys.length === 0 || keys.some((key) => line.about.includes(key.slice(key.lastIndexOf('/') + 1)))) &&
    (transactions.length === 0 || transactions.some(about)) &&
    (events.length === 0 || events.some((event) => line.event.startsWith(event)))
  );
}

/** Of each virtual second the most telling lines, and a count of the others. */
function condensed(lines: readonly Line[], columns: number): readonly string[] {
  const seconds = new Map<number, Line[]>();
  for (const line of lines) {
    const second = Math.floor(line.atUs / 1_000_000);
    const others = seconds.get(second);
    if (others === undefined) seconds.set(second, [line]);
    else others.push(line);
  }
  return [...seconds].flatMap(([second, all]) => {
    const chosen = new Set(ranked(all).slice(0, overviewLinesMax));
    const texts = all.filter((line) => chosen.has(line)).map((line) => cutLine(textOf(line), columns));
    return all.length === texts.length
      ? texts
      : [...texts, ...restOf(second, ranked(all).slice(overviewLinesMax), columns)];
  });
}

function ranked(lines: readonly Line[]): readonly Line[] {
  return lines.toSorted((left, right) => left.rank - right.rank);
}

/** What is not printed, counted by its sort, the most telling first. */
function restOf(second: number, rest: readonly Line[], columns: number): readonly string[] {
  const counts = new Map<string, number>();
  for (const { sort } of rest) counts.set(sort, (counts.get(sort) ?? 0) + 1);
  const parts = [...counts].map(([sort, count]) => `${grouped(count)} ${sort}`);
  return fillList(
    [`… and from ${second} s to ${second + 1} s: ${parts[0] ?? ''}`, ...parts.slice(1)],
    '         ',
    columns,
  );
}

function textOf({ atUs, text }: Line): string {
  return `${(atUs / 1_000_000).toFixed(6)} ${text}`;
}
