/** Browses data: the buckets of a type, the keys of a bucket, one key's siblings and their causes. */
import type {
  ConsoleBuckets,
  ConsoleKeys,
  ConsoleObject,
  ShownDot,
  ShownName,
  ShownSibling,
} from '../api/http/console-answers.ts';
import { begin, facts, h, table } from './dom.ts';
import { failureText, getJson } from './node-client.ts';
import { bytesText, timeText } from './numbers.ts';

const listingMsMax = 20_000;

/** Percent-encodes what an operator typed: a name as text. */
function typed(text: string): ShownName {
  return { text, path: encodeURIComponent(text) };
}

/** The panel's content. */
export class DataBrowser {
  readonly element: HTMLElement;
  readonly #type = h('input', { id: 'data-type', value: 'default', autocomplete: 'off' });
  readonly #bucket = h('input', { id: 'data-bucket', autocomplete: 'off' });
  readonly #key = h('input', { id: 'data-key', autocomplete: 'off' });
  readonly #names = h('div', { id: 'data-names', 'aria-live': 'polite' });
  readonly #object = h('div', { id: 'data-object', 'aria-live': 'polite' });

  constructor() {
    const buckets = h(
      'form',
      { onsubmit: submitted(() => this.#listBuckets()) },
      h('label', { for: 'data-type' }, 'Bucket type'),
      this.#type,
      h('button', { type: 'submit' }, 'List buckets'),
    );
    const keys = h(
      'form',
      { onsubmit: submitted(() => this.#listKeys(typed(this.#bucket.value), 0)) },
      h('label', { for: 'data-bucket' }, 'Bucket'),
      this.#bucket,
      h('button', { type: 'submit' }, 'List keys'),
    );
    const object = h(
      'form',
      { onsubmit: submitted(() => this.#showObject(typed(this.#bucket.value), typed(this.#key.value))) },
      h('label', { for: 'data-key' }, 'Key'),
      this.#key,
      h('button', { type: 'submit' }, 'Show'),
    );
    const forms = h('div', { class: 'forms' }, buckets, keys, object);
    this.element = h('div', {}, forms, this.#names, this.#object);
  }

  get #typePath(): string {
    return `/console/types/${encodeURIComponent(this.#type.value)}/buckets`;
  }

  async #listBuckets(): Promise<void> {
    await into(this.#names, async () => {
      const { buckets, complete } = await getJson<ConsoleBuckets>(this.#typePath, listingMsMax);
      const open = (bucket: ShownName) => async (): Promise<void> => {
        this.#bucket.value = bucket.text;
        await this.#listKeys(bucket, 0);
      };
      return [
        h('h3', {}, `${buckets.length} buckets${complete ? '' : ', and perhaps more'}`),
        namesList(buckets, open),
      ];
    });
  }

  async #listKeys(bucket: ShownName, from: number): Promise<void> {
    await into(this.#names, async () => {
      const path = `${this.#typePath}/${bucket.path}/keys?from=${from}`;
      const { keys, next, complete } = await getJson<ConsoleKeys>(path, listingMsMax);
      const open = (key: ShownName) => (): Promise<void> => {
        this.#bucket.value = bucket.text;
        this.#key.value = key.text;
        return this.#showObject(bucket, key);
      };
      const more =
        next === null
          ? []
          : [
              h(
                'button',
                { type: 'button', onclick: () => begin(this.#listKeys(bucket, next)) },
                'Next page',
              ),
            ];
      const end = complete ? ' (the end)' : '';
      return [h('h3', {}, `${keys.length} keys of ${bucket.text}${end}`), namesList(keys, open), ...more];
    });
  }

  async #showObject(bucket: ShownName, key: ShownName): Promise<void> {
    await into(this.#object, async () => {
      const path = `${this.#typePath}/${bucket.path}/keys/${key.path}`;
      return objectView(await getJson<ConsoleObject>(path, listingMsMax));
    });
  }
}

function submitted(act: () => Promise<void>): (event: Event) => void {
  return (event) => {
    event.preventDefault();
    begin(act());
  };
}

async function into(place: HTMLElement, make: () => Promise<readonly HTMLElement[]>): Promise<void> {
  place.setAttribute('aria-busy', 'true');
  try {
    place.replaceChildren(...(await make()));
  } catch (error) {
    place.replaceChildren(h('p', { class: 'failure' }, failureText(error)));
  } finally {
    place.removeAttribute('aria-busy');
  }
}

function namesList(names: readonly ShownName[], open: (name: ShownName) => () => Promise<void>): HTMLElement {
  if (names.length === 0) return h('p', {}, 'None.');
  const items = names.map((name) =>
    h(
      'li',
      {},
      h('button', { type: 'button', class: 'name', onclick: () => begin(open(name)()) }, shown(name.text)),
    ),
  );
  return h('ul', { class: 'names' }, ...items);
}

function shown(text: string): string {
  return text === '' ? '(empty)' : text;
}

function objectView(object: ConsoleObject): readonly HTMLElement[] {
  const { siblings, siblings_total: total, context, context_total: known } = object;
  const only =
    total === 1 ? 'one value' : `${total} siblings: concurrent writes that no write has replaced yet`;
  const more = total - siblings.length;
  return [
    h('h3', {}, shown(object.key.text)),
    facts([
      ['Bucket', `${object.bucket.text} (type ${object.type.text})`],
      [
        'Owners',
        object.owners.length === 0 ? 'not known' : `${object.owners.join(', ')} (the first is the primary)`,
      ],
      ['Holds', only],
    ]),
    ...siblings.map((sibling, index) => siblingView(sibling, index, siblings)),
    ...(more > 0 ? [h('p', {}, `… and ${more} more siblings.`)] : []),
    contextTable(context, siblings),
    ...(known > context.length ? [h('p', {}, `… and ${known - context.length} more entries.`)] : []),
    facts([['Context (X-Riak-Vclock)', h('code', { class: 'long' }, object.context_base64)]]),
  ];
}

function dotText({ node, incarnation, counter }: ShownDot): string {
  return `${node}, incarnation ${incarnation}, counter ${counter}`;
}

function siblingView(sibling: ShownSibling, index: number, all: readonly ShownSibling[]): HTMLElement {
  const { preview, bytes, meta, meta_total: metaTotal } = sibling;
  const others = all.filter((one) => one !== sibling).map((one) => one.tag);
  const cut = preview.bytes < bytes ? `, of which the first ${preview.bytes} are shown` : '';
  const digits = preview.form === 'hex' ? ', shown as hexadecimal digits' : '';
  const value = sibling.deleted
    ? h('p', {}, 'A tombstone: this write deleted the key.')
    : h('pre', { tabindex: '0', 'aria-label': `Value of sibling ${index + 1}` }, preview.shown);
  const named = meta.map(([name, text]) => h('li', {}, `${name}: ${text}`));
  const encoding = [sibling.charset, sibling.content_encoding].filter((part) => part !== '').join(', ');
  return h(
    'article',
    { class: 'card' },
    h('h4', {}, all.length === 1 ? 'Value' : `Sibling ${index + 1} of ${all.length}`),
    value,
    facts([
      ['Size', sibling.deleted ? 'none' : `${bytesText(bytes)}${cut}${digits}`],
      ['Content type', sibling.content_type === '' ? 'none given' : sibling.content_type],
      ...(encoding === '' ? [] : ([['Encoding', encoding]] as const)),
      ['Last modified', timeText(sibling.last_modified_ms)],
      ['Written by', dotText(sibling.dot)],
      ['Tag', h('code', {}, sibling.tag)],
      ...(others.length === 0
        ? []
        : ([['Has not seen', `${others.join(', ')}, and they have not seen it`]] as const)),
      ...(metaTotal === 0 ? [] : ([[`Metadata (${metaTotal})`, h('ul', {}, ...named)]] as const)),
      ...(sibling.links === 0 ? [] : ([['Links', String(sibling.links)]] as const)),
    ]),
  );
}

function contextTable(context: readonly ShownDot[], siblings: readonly ShownSibling[]): HTMLElement {
  const rows = context.map((entry) => {
    const same = siblings.filter(
      ({ dot }) => dot.node === entry.node && dot.incarnation === entry.incarnation,
    );
    const last = same.some(({ dot }) => dot.counter === entry.counter);
    const state = last
      ? 'the last of them is a sibling'
      : same.length > 0
        ? 'an earlier one is a sibling; later ones were replaced'
        : 'all of them were replaced';
    return [
      entry.node,
      h('code', {}, entry.incarnation),
      String(entry.counter),
      timeText(entry.at_ms),
      state,
    ];
  });
  const heads = ['Node', 'Incarnation', 'Knows its writes up to', 'Which is about', 'What became of them'];
  return table('Causal context: the writes that this object knows', heads, rows);
}
