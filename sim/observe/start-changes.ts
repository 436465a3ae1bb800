/**
 * Follows what each start changes in the node's own store before the store is open (`input-robustness`): a start that
 * refuses the store must leave it as it was, since an operator may still rescue it.
 */
import type { Trace } from '../world/core/trace.ts';

/** World events that change a store, beside writes. */
const changeEvents: readonly string[] = ['disk.file.truncated', 'disk.name.renamed', 'disk.name.removed'];
const store = 'store';

/** The starts of all hosts. */
export class StartChanges {
  readonly #lifeOf: (host: string) => number;
  /** Hosts whose store is not open yet. */
  readonly #starting = new Set<string>();
  /** By incarnation (`n1/3`), the first file of the store that it changed before the store was open. */
  readonly #changed = new Map<string, string>();

  /** `lifeOf`: the number of the host's present incarnation. */
  constructor(trace: Pick<Trace, 'on'>, lifeOf: (host: string) => number) {
    this.#lifeOf = lifeOf;
    trace.on('host.booted', ({ host }) => void this.#starting.add(host));
    trace.on('store.opened', ({ host, fields }) => {
      if (fields['directory'] !== store) return;
      this.#starting.delete(host);
      // Whatever is refused from now on, the store itself was not.
      this.#changed.delete(`${host}/${this.#lifeOf(host)}`);
    });
    for (const event of changeEvents)
      trace.on(event, ({ host, fields }) => this.changes(host, String(fields['what'])));
  }

  /** A host changes the file at the path, by a write or otherwise. */
  changes(host: string, path: string): void {
    if (!this.#starting.has(host) || !path.startsWith(`${store}/`)) return;
    const life = `${host}/${this.#lifeOf(host)}`;
    if (!this.#changed.has(life)) this.#changed.set(life, path);
  }

  /** The first file of the store that the incarnation changed before the store was open; undefined: none. */
  changed(host: string, life: number): string | undefined {
    return this.#changed.get(`${host}/${life}`);
  }
}
