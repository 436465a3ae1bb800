/**
 * Gives the counters of accounts by their series names in the text exposition. A run has hundreds of accounts of the
 * same thousand series, and snapshots share the labels of a series. Each name is therefore made once, and each account
 * is read once.
 */
import { seriesName } from './exposition-text.ts';
import type { CountedSample, IncarnationAccount } from './reconcile/account.ts';

type Labels = CountedSample['labels'];
/** By family. */
type Names = Map<string, string>;

/** Caches series names and the counters of each account. */
export class CountedSeries {
  readonly #known = new Map<IncarnationAccount, ReadonlyMap<string, number>>();
  readonly #ofLabels = new Map<Labels, Names>();
  /** The same by label text, because some label objects are created anew for each snapshot. */
  readonly #ofTexts = new Map<string, Names>();

  of(account: IncarnationAccount): ReadonlyMap<string, number> {
    const known = this.#known.get(account);
    if (known !== undefined) return known;
    const counters = new Map<string, number>();
    for (const { family, type, labels, value } of account.counted) {
      if (type === 'counter') counters.set(this.#nameOf(family, labels), value);
    }
    this.#known.set(account, counters);
    return counters;
  }

  #nameOf(family: string, labels: Labels): string {
    const names = this.#ofLabels.get(labels) ?? this.#namesOf(labels);
    const known = names.get(family);
    if (known !== undefined) return known;
    const name = seriesName({ name: family, labels: textsOf(labels) });
    names.set(family, name);
    return name;
  }

  #namesOf(labels: Labels): Names {
    const text = seriesName({ name: '', labels: textsOf(labels) });
    const names = this.#ofTexts.get(text) ?? new Map<string, string>();
    this.#ofTexts.set(text, names);
    this.#ofLabels.set(labels, names);
    return names;
  }
}

function textsOf(labels: Labels): ReadonlyMap<string, string> {
  return new Map(Object.entries(labels).map(([name, label]) => [name, String(label)]));
}
