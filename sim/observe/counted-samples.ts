/** Flattens a metrics snapshot into the samples that an account holds. */
import type { CollectedFamily } from '../../engine/metrics/family.ts';
import { familiesOf } from '../../engine/metrics/snapshot-families.ts';
import type { StatsSnapshot } from '../../engine/metrics/snapshot.ts';
import type { CountedSample } from '../check/metrics/reconcile/account.ts';

/** Converts snapshots to samples; families that did not change between two snapshots are converted once. */
export class CountedSamples {
  /** Snapshots share unchanged families with their predecessors; the cache lets accounts share their samples too. */
  readonly #known = new WeakMap<CollectedFamily, readonly CountedSample[]>();

  of(snapshot: StatsSnapshot): readonly CountedSample[] {
    const counted: CountedSample[] = [];
    for (const collected of familiesOf(snapshot)) {
      for (const sample of this.#of(collected)) counted.push(sample);
    }
    return counted;
  }

  #of(collected: CollectedFamily): readonly CountedSample[] {
    const known = this.#known.get(collected);
    if (known !== undefined) return known;
    const { family, samples } = collected;
    const counted: CountedSample[] = [];
    // Every value of a histogram only grows, as a counter does.
    const type = family.type === 'gauge' ? 'gauge' : 'counter';
    for (const { labels, value, suffix = '' } of samples) {
      counted.push({ family: `${family.name}${suffix}`, type, labels, value });
    }
    this.#known.set(collected, counted);
    return counted;
  }
}
