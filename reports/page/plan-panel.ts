/** The plan as a list of sentences that can be edited: dropping, moving and adding starts a run in the worker. */
import type { FaultEntry } from '../../sim/browser/protocol.ts';
import type { Plan } from '../../sim/plan/plan.ts';
import type { PlanSentence, Recording } from '../../sim/record/recording.ts';
import { h } from '../../engine/console/dom.ts';
import { addFault, dropFrom, moveItem, putBack } from './plan-edits.ts';

/** What the panel edits, and what it calls with an edited plan. */
export interface PlanEditing {
  readonly original: Recording;
  readonly current: Recording;
  readonly faults: readonly FaultEntry[];
  readonly canRun: boolean;
  readonly run: (plan: Plan) => void;
  /** Shows the instant at which a fault struck. */
  readonly show: (sentence: PlanSentence) => void;
}

const sentencesMax = 400;
const moveUs = 10_000;

/** The sentences of the first plan and of what was added; dropped ones can come back. */
export function planList(editing: PlanEditing): HTMLElement {
  const { original, current } = editing;
  const now = new Map(current.sentences.map((one) => [one.id, one]));
  const before = new Set(original.sentences.map(({ id }) => id));
  const added = current.sentences.filter(({ id }) => !before.has(id));
  const all = [...original.sentences, ...added].slice(0, sentencesMax);
  const items = all.map((sentence) =>
    planItem(editing, now.get(sentence.id) ?? sentence, now.has(sentence.id)),
  );
  if (items.length === 0) {
    return h(
      'p',
      { class: 'hint' },
      'No fault and no operation: starting the cluster and reading it is enough.',
    );
  }
  return h(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'The plan' },
    h('ol', { class: 'sentences' }, ...items),
  );
}

function planItem(editing: PlanEditing, sentence: PlanSentence, kept: boolean): HTMLElement {
  const { current, original, canRun } = editing;
  const { id, kind, text, atUs } = sentence;
  const button = (label: string, title: string, act: () => void): HTMLElement =>
    h(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-label': `${title} ${id}`,
        title,
        disabled: !canRun,
        onclick: act,
      },
      label,
    );
  const buttons: HTMLElement[] = [];
  if (!kept)
    buttons.push(button('Put back', 'put back', () => editing.run(putBack(original.plan, current.plan, id))));
  else {
    if (kind === 'fault' || atUs !== undefined) {
      buttons.push(
        h(
          'button',
          {
            type: 'button',
            class: 'small',
            'aria-label': `show ${id}`,
            onclick: () => editing.show(sentence),
          },
          'Show',
        ),
        button('−10 ms', '−10 ms:', () => editing.run(moveItem(current.plan, id, -moveUs))),
        button('+10 ms', '+10 ms:', () => editing.run(moveItem(current.plan, id, moveUs))),
      );
    }
    buttons.push(button('Drop', 'drop', () => editing.run(dropFrom(current.plan, id))));
  }
  return h('li', { class: kept ? '' : 'dropped' }, h('b', {}, id), h('span', {}, text), ...buttons);
}

/** The form that adds a fault. */
export function addForm({ current, faults, canRun, run }: PlanEditing): HTMLElement {
  const { plan } = current;
  const kind = h(
    'select',
    { 'aria-label': 'kind of fault' },
    ...faults.map((one) =>
      h('option', { value: one.kind, selected: one.kind === 'process-crash' }, one.kind),
    ),
  );
  const target = h(
    'select',
    { 'aria-label': 'node' },
    ...plan.nodes.map(({ name }) => h('option', { value: name }, name)),
  );
  const at = h('input', {
    type: 'number',
    min: '0',
    value: '500',
    'aria-label': 'at, in milliseconds of the storm',
    size: '6',
  });
  const length = h('input', {
    type: 'number',
    min: '0',
    value: '300',
    'aria-label': 'for, in milliseconds',
    size: '6',
  });
  const add = (): void => {
    const row = faults.find((one) => one.kind === kind.value);
    if (row === undefined) return;
    const atUs = Math.min(plan.stormUs, Math.max(0, Math.round(Number(at.value) * 1000)));
    const forUs = row.lasting ? Math.max(0, Math.round(Number(length.value) * 1000)) : 0;
    run(
      addFault(plan, { kind: row.kind, targets: [target.value], when: { atUs }, forUs, params: row.params }),
    );
  };
  const button = h(
    'button',
    { type: 'button', disabled: !canRun || faults.length === 0, onclick: add },
    'Add fault',
  );
  return h(
    'div',
    { class: 'bar' },
    kind,
    h('label', {}, 'strikes', target),
    h('label', {}, 'at', at, 'ms'),
    h('label', {}, 'for', length, 'ms'),
    button,
  );
}
