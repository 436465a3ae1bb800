/**
 * The sorted entries of the range that an exchange lists. All keys of a bucket may lie in one segment, whose list then
 * has many pages: the range is listed for the first page, and the further pages are cut from that list. What is written
 * meanwhile is found by the next exchange.
 */
import type { ListRange } from './messages.ts';
import type { Entry, Refresh } from './refresh.ts';
import type { TokenRange } from './tree.ts';

/** The range that one side of an exchange listed last. */
export class ListedRange {
  readonly #refresh: Pick<Refresh, 'entriesOf'>;
  #listed: { readonly range: TokenRange; readonly entries: readonly Entry[] } | undefined;

  constructor(refresh: Pick<Refresh, 'entriesOf'>) {
    this.#refresh = refresh;
  }

  /** Whether this page follows a page of the range that was listed last. */
  continues({ first, last, after }: ListRange): boolean {
    const range = this.#listed?.range;
    return after !== '' && range?.first === first && range.last === last;
  }

  /** The entries of the range behind `after`, sorted by key; the first page lists the range. */
  async entriesOf(range: ListRange): Promise<readonly Entry[]> {
    if (!this.continues(range)) {
      this.#listed = undefined;
      const { first, last } = range;
      this.#listed = { range: { first, last }, entries: await this.#refresh.entriesOf({ first, last }) };
    }
    const entries = this.#listed?.entries ?? [];
    return range.after === '' ? entries : entries.slice(countUpTo(entries, range.after));
  }

  /** Drops the entries: the exchange is over, or lists no more. */
  drop(): void {
    this.#listed = undefined;
  }
}

/** How many of the entries, which are sorted by key, have a key of at most `key`. */
export function countUpTo(entries: readonly Entry[], key: string): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((entries[middle]?.key ?? '') <= key) from = middle + 1;
    else to = middle;
  }
  return from;
}
