/** The panels beside the diagram: events around the cursor, objects at an instant, counters, checks. */
import type { Recording } from '../../sim/record/recording.ts';
import { h } from '../../engine/console/dom.ts';
import { timeText } from './dom.ts';
import type { Model, TimelineEvent } from './model.ts';
import { textOf } from './model.ts';

/** Rows of the list of events before and after the cursor. */
const rowsAround = 14;
const keysMax = 8;

/** The events around an instant; `pick` is called with a chosen one. */
export function eventRows(model: Model, atUs: number, pick: (event: TimelineEvent) => void): HTMLElement[] {
  const now = model.eventAt(atUs);
  const from = Math.max(0, now - rowsAround);
  return model.events.slice(from, now + rowsAround + 1).map((event, offset) => {
    const about = isAbout(model, event);
    const classes = [from + offset === now ? 'now' : '', about ? 'about' : ''].filter(Boolean).join(' ');
    return h(
      'li',
      {
        class: classes,
        onclick: () => pick(event),
        ...(from + offset === now ? { 'aria-current': 'true' } : {}),
      },
      h('time', {}, (event.atUs / 1_000_000).toFixed(6)),
      h('span', {}, model.recording.lanes[event.lane]?.name ?? ''),
      h('span', {}, textOf(event, model.recording)),
    );
  });
}

function isAbout({ recording, concerned }: Model, { source, index }: TimelineEvent): boolean {
  const list =
    source === 'mark'
      ? recording.marks
      : source === 'sent' || source === 'arrived'
        ? recording.messages
        : recording.operations;
  return (list[index]?.about ?? []).some((one) => concerned.has(one));
}

/** What each node holds of these keys at an instant. */
export function objectsTable(model: Model, subjects: ReadonlySet<number>, atUs: number): HTMLElement {
  const { recording } = model;
  const held = new Set(recording.states.map(({ key }) => key));
  const wanted = [...(subjects.size > 0 ? subjects : model.concerned)].filter((key) => held.has(key));
  const keys = (wanted.length > 0 ? wanted : [...held]).slice(0, keysMax);
  const nodes = recording.lanes.flatMap(({ kind }, lane) => (kind === 'node' ? [lane] : []));
  if (keys.length === 0) return h('p', { class: 'hint' }, 'No node holds an object yet.');
  const rows = keys.map((key) => {
    const at = model.heldAt(key, atUs);
    const values = nodes.map((lane) => at.get(lane) ?? 'nothing');
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, recording.subjects[key] ?? ''),
      ...values.map((text) => h('td', {}, text)),
    );
  });
  const head = nodes.map((lane) => h('th', { scope: 'col' }, recording.lanes[lane]?.name ?? ''));
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'key'), ...head)),
    h('tbody', {}, ...rows),
  );
}

/** Metrics of the nodes beside what the world counted; differences first. */
export function countersTable({ counters, lanes }: Recording): HTMLElement {
  if (counters.length === 0) return h('p', { class: 'hint' }, 'This run compared no metrics.');
  const ordered = counters.toSorted((left, right) => Number(left.holds) - Number(right.holds));
  const rows = ordered.map((row) =>
    h(
      'tr',
      { class: row.holds ? '' : 'bad' },
      h('td', {}, row.name),
      h('td', {}, `${lanes[row.lane]?.name ?? ''} / ${row.incarnation}`),
      h('td', { class: 'num' }, row.counted),
      h('td', { class: 'num' }, row.expected),
      h('td', { class: 'num' }, `${timeText(row.atUs)}, ${row.moment}`),
    ),
  );
  const head = ['metric', 'node / incarnation', 'the node counts', 'the truth', 'when'];
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, ...rows),
  );
}

/** Every check with what it compared. */
export function checksTable({ result }: Recording): HTMLElement {
  const ordered = result.reports.toSorted((left, right) => Number(left.ok) - Number(right.ok));
  const rows = ordered.map(({ invariant, ok, checked, reasons, vacuous }) =>
    h(
      'tr',
      { class: ok ? '' : 'bad' },
      h('td', {}, invariant),
      h('td', {}, ok ? 'holds' : vacuous ? 'proves nothing' : 'is broken'),
      h('td', { class: 'num' }, String(checked)),
      h('td', {}, reasons.slice(0, 3).join(' · ')),
    ),
  );
  const head = ['promise', 'verdict', 'compared', 'violations'];
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, ...rows),
  );
}
