/**
 * Renders a recorded run in the Trace Event Format of Chrome, which ui.perfetto.dev and chrome://tracing open: a process
 * for each host, operations of clients as slices, messages as flows between short slices, faults as slices of the hosts
 * that they strike, everything else as instants. Times are microseconds of virtual time. Pure.
 */
import type { Recording } from '../../sim/record/recording.ts';

/** One event of the format; only the fields that are used. */
interface TraceEvent {
  readonly ph: 'M' | 'X' | 'i' | 's' | 'f';
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  readonly cat?: string;
  readonly id?: number;
  readonly bp?: 'e';
  readonly s?: 't';
  readonly args?: Readonly<Record<string, string | number>>;
}

/** Rows of a host, as threads of its process. */
const rows = { operations: 1, messages: 2, faults: 3, events: 4 } as const;

/** How long the slice of sending or receiving is drawn, in microseconds. */
const momentUs = 1;

/** The file's text, JSON. */
export function chromeTrace(recording: Recording): string {
  const { result } = recording;
  const traceEvents = [
    ...names(recording),
    ...operations(recording),
    ...messages(recording),
    ...faults(recording),
    ...instants(recording),
  ];
  const otherData = {
    scenario: result.scenario,
    seed: result.seed,
    digest: result.digest,
    verdict: result.verdict,
  };
  return `{"displayTimeUnit":"ms","otherData":${JSON.stringify(otherData)},"traceEvents":[\n${traceEvents.map((event) => JSON.stringify(event)).join(',\n')}\n]}\n`;
}

function names({ lanes }: Recording): readonly TraceEvent[] {
  return lanes.flatMap(({ name }, pid): readonly TraceEvent[] => [
    { ph: 'M', name: 'process_name', pid, tid: 0, ts: 0, args: { name } },
    { ph: 'M', name: 'process_sort_index', pid, tid: 0, ts: 0, args: { sort_index: pid } },
    ...Object.entries(rows).map(([row, tid]): TraceEvent => ({
      ph: 'M',
      name: 'thread_name',
      pid,
      tid,
      ts: 0,
      args: { name: row },
    })),
  ]);
}

function operations({ operations: all, result }: Recording): readonly TraceEvent[] {
  return all.map(({ id, lane, invokedUs, completedUs, outcome, text }) => ({
    ...{ ph: 'X', name: text, cat: outcome, pid: lane, tid: rows.operations, ts: invokedUs },
    dur: (completedUs < 0 ? result.virtualUs : completedUs) - invokedUs,
    args: { id, outcome },
  }));
}

function messages({ messages: all, messageKinds, lanes }: Recording): readonly TraceEvent[] {
  return all.flatMap(({ from, to, sentUs, arrivedUs, kind, bytes }, id): readonly TraceEvent[] => {
    const name = messageKinds[kind] ?? 'message';
    const lost = arrivedUs < 0;
    const slice = {
      ph: 'X',
      name: lost ? `${name} (lost)` : name,
      cat: 'message',
      tid: rows.messages,
      dur: momentUs,
    } as const;
    const sent = { ...slice, pid: from, ts: sentUs, args: { to: lanes[to]?.name ?? '?', bytes } };
    if (lost) return [sent];
    const flow = { name, cat: 'message', id, tid: rows.messages } as const;
    return [
      sent,
      { ...slice, pid: to, ts: arrivedUs, args: { from: lanes[from]?.name ?? '?', bytes } },
      { ...flow, ph: 's', pid: from, ts: sentUs },
      { ...flow, ph: 'f', bp: 'e', pid: to, ts: arrivedUs },
    ];
  });
}

function faults({ bands }: Recording): readonly TraceEvent[] {
  return bands.flatMap(({ kind, lanes, fromUs, toUs, text, fault }) =>
    lanes.map((pid): TraceEvent => ({
      ...{ ph: 'X', name: kind, cat: 'fault', pid, tid: rows.faults, ts: fromUs, dur: toUs - fromUs },
      args: { id: fault, text },
    })),
  );
}

function instants({ marks }: Recording): readonly TraceEvent[] {
  return marks.map(({ lane, atUs, kind, text }) => ({
    ...{ ph: 'i', s: 't', name: text.split(' ', 1)[0] ?? kind, cat: kind, pid: lane },
    ...{ tid: kind === 'fault' ? rows.faults : rows.events, ts: atUs, args: { text } },
  }));
}
