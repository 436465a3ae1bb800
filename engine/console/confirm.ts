/** A dialog in which an operator confirms an action, and learns whether the node carried it out. */
import { begin, h } from './dom.ts';
import { failureText } from './node-client.ts';

/** What is to be confirmed. */
export interface Question {
  readonly title: string;
  readonly body: readonly HTMLElement[];
  /** What the operator must type before the action can be sent; empty: nothing. */
  readonly typed: string;
  /** The button that sends it. */
  readonly verb: string;
  readonly act: () => Promise<void>;
}

/** Shows the dialog. Resolves once it is closed, whether or not the action was sent. */
export function confirmed({ title, body, typed, verb, act }: Question): Promise<void> {
  return new Promise((resolve) => {
    const input = h('input', { id: 'confirm-typed', autocomplete: 'off', spellcheck: 'false' });
    const outcome = h('p', { role: 'status' });
    const cancel = h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel');
    const send = h('button', { type: 'submit', class: 'primary' }, verb);
    send.disabled = typed !== '';
    input.addEventListener('input', () => (send.disabled = input.value !== typed));
    const submit = async (event: Event): Promise<void> => {
      event.preventDefault();
      send.disabled = true;
      try {
        await act();
        dialog.close();
      } catch (error) {
        outcome.textContent = failureText(error);
        send.disabled = false;
      }
    };
    const ask = typed === '' ? [] : [h('label', { for: 'confirm-typed' }, 'Type its id to confirm'), input];
    const form = h(
      'form',
      { method: 'dialog', onsubmit: (event) => begin(submit(event)) },
      h('h2', { id: 'confirm-title' }, title),
      ...body,
      ...ask,
      outcome,
      h('div', { class: 'buttons' }, cancel, send),
    );
    const dialog = h('dialog', { 'aria-labelledby': 'confirm-title' }, form);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
