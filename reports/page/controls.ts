/** The bars of controls over the diagram: what is shown, and where the cursor stands. */
import { familyOf } from './style.ts';
import { h } from '../../engine/console/dom.ts';
import type { Filter, Model } from './model.ts';

type Change = (change: Partial<Filter>) => void;

/** Buttons of which one is pressed. */
export function segmented<Value extends string>(
  label: string,
  options: readonly (readonly [Value, string])[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  const buttons = options.map(([value, text]) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(value === chosen),
        onclick: (event) => {
          for (const button of buttons)
            button.setAttribute('aria-pressed', String(button === event.currentTarget));
          choose(value);
        },
      },
      text,
    ),
  );
  return h('div', { class: 'segmented', role: 'group', 'aria-label': label }, ...buttons);
}

/** The filters of one model. */
export function filterBar(model: Model, filter: Filter, change: Change): HTMLElement {
  const { recording } = model;
  const cone = segmented(
    'How much of the run is drawn strongly',
    [
      ['related', 'The cause'],
      ['all', 'Its causal past'],
      ['off', 'Everything'],
    ],
    filter.cone,
    (value) => change({ cone: value }),
  );
  const bar = h('div', { class: 'bar' });
  if (recording.concern !== undefined) bar.append(cone);
  bar.append(
    subjectField(model, filter, change),
    faultField(model, filter, change),
    laneChips(model, filter, change),
  );
  return h('div', {}, bar, kindChips(model, filter, change));
}

function subjectField({ recording }: Model, { subjects }: Filter, change: Change): HTMLElement {
  const [chosen] = subjects;
  const options = recording.subjects.map((name) => h('option', { value: name }));
  const field = h('input', {
    list: 'subjects',
    placeholder: 'all',
    size: '14',
    value: chosen === undefined ? '' : (recording.subjects[chosen] ?? ''),
    onchange: () => {
      const words = field.value.split(/[\s,]+/).filter(Boolean);
      const found = words.map((word) => recording.subjects.indexOf(word)).filter((at) => at >= 0);
      change({ subjects: new Set(found) });
    },
  });
  return h('label', {}, 'Key or transaction', field, h('datalist', { id: 'subjects' }, ...options));
}

function faultField({ recording }: Model, { fault }: Filter, change: Change): HTMLElement {
  const options = recording.bands.map((band) =>
    h('option', { value: band.fault, selected: band.fault === fault }, `${band.fault} ${band.kind}`),
  );
  const field = h(
    'select',
    { onchange: () => change({ fault: field.value }) },
    h('option', { value: '' }, 'all'),
    ...options,
  );
  return h('label', {}, 'Fault', field);
}

/** Hosts: each can be hidden. */
function laneChips({ recording }: Model, filter: Filter, change: Change): HTMLElement {
  const shown = new Set(filter.lanes.size > 0 ? filter.lanes : recording.lanes.keys());
  const chips = recording.lanes.map(({ name }, lane) =>
    chip(name, shown.has(lane), (on) => {
      if (on) shown.add(lane);
      else shown.delete(lane);
      change({ lanes: new Set(shown) });
    }),
  );
  return h('fieldset', {}, h('legend', {}, 'Hosts'), ...chips);
}

function kindChips({ recording }: Model, filter: Filter, change: Change): HTMLElement {
  const shown = new Set(filter.kinds.size > 0 ? filter.kinds : recording.messageKinds.keys());
  const chips = recording.messageKinds.map((name, kind) =>
    chip(name, shown.has(kind), (on) => {
      if (on) shown.add(kind);
      else shown.delete(kind);
      change({ kinds: shown.size === 0 ? new Set([-1]) : new Set(shown) });
    }),
  );
  const set = h('fieldset', { class: 'bar' }, h('legend', {}, 'Messages'), ...chips);
  return h('details', {}, h('summary', {}, 'Kinds of messages'), set);
}

function chip(name: string, on: boolean, toggle: (on: boolean) => void): HTMLElement {
  const button = h(
    'button',
    {
      type: 'button',
      class: 'chip small',
      'aria-pressed': String(on),
      onclick: () => {
        const next = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(next));
        toggle(next);
      },
    },
    name,
  );
  return button;
}

/** What the strokes of the diagram mean. */
export function legend(): HTMLElement {
  const families = (['object', 'transaction', 'repair', 'gossip', 'client'] as const).map((name) => {
    const line = h('i', { style: `color: var(--m-${name})` });
    return h('li', {}, line, name);
  });
  const signs = [
    'dashed: delayed or again',
    'red with a cross: lost',
    'hatched: a fault of links, n1 – n2 or n1 | n2 n3',
    '✕ crash  ▶ start  ϟ fault',
    'bars: filled ok, hollow failed, dashed unknown',
  ];
  return h('ul', { class: 'legend' }, ...families, ...signs.map((text) => h('li', {}, text)));
}

/** The kinds of messages that say little about one failure, hidden at first. */
export function quietKinds({ recording }: Model): ReadonlySet<number> {
  const kept = recording.messageKinds.flatMap((name, kind) => (familyOf(name) === 'gossip' ? [] : [kind]));
  return kept.length === 0 ? new Set() : new Set(kept);
}
