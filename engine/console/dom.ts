/** Makes elements of the console, and of the reports' pages. Texts are always set as text, never as markup. */

type Child = Node | string;
type Attributes = Readonly<Record<string, string | boolean | ((event: Event) => void)>>;

/** An element with attributes (`onclick` and the like take functions; `false` leaves one out) and children. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for an element of a drawing. */
export function draw<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A table with a caption for readers of screens, in a box that scrolls by itself where it is too wide. */
export function table(
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly Child[])[],
): HTMLElement {
  const head = h('tr', {}, ...heads.map((text) => h('th', { scope: 'col' }, text)));
  const body = rows.map((cells) =>
    h('tr', {}, ...cells.map((cell, at) => (at === 0 ? h('th', { scope: 'row' }, cell) : h('td', {}, cell)))),
  );
  return h(
    'div',
    { class: 'scrolls', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', {}, h('caption', {}, caption), h('thead', {}, head), h('tbody', {}, ...body)),
  );
}

/** A list of terms and their values. */
export function facts(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  return h('dl', {}, ...pairs.flatMap(([term, value]) => [h('dt', {}, term), h('dd', {}, value)]));
}

/** A section of the console: its heading, and the part below it that is replaced as a whole. */
export class Panel {
  readonly element: HTMLElement;
  readonly #body = h('div');
  #shown = '';

  constructor(id: string, title: string, hint = '') {
    const heading = h('h2', { id: `${id}-title` }, title);
    this.element = h('section', { id, 'aria-labelledby': `${id}-title` }, heading);
    if (hint !== '') this.element.append(h('p', { class: 'hint' }, hint));
    this.element.append(this.#body);
  }

  /** Replaces the content if the facts behind it have changed, so that focus and selection stay otherwise. */
  show(facts: unknown, make: () => readonly Child[]): void {
    const text = JSON.stringify(facts);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#body.replaceChildren(...make());
  }
}

/** Begins work that no caller awaits. A failure that the work does not show is a fault of the page, reported as such. */
export function begin(work: Promise<unknown>): void {
  work.catch(reportError);
}
