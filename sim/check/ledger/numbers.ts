/** Reading an account's numbers by the names that the interface gives them. */
import type { CountedSample, LifeAccount } from './account.ts';

export class Numbers {
  readonly #byFamily = new Map<string, CountedSample[]>();
  readonly #used = new Set<string>();
  readonly #recorded: LifeAccount['recorded'];

  constructor({ counted, recorded }: LifeAccount) {
    this.#recorded = recorded;
    for (const sample of counted) {
      const known = this.#byFamily.get(sample.family);
      if (known === undefined) this.#byFamily.set(sample.family, [sample]);
      else known.push(sample);
    }
  }

  /** Families that were asked for so far. */
  get used(): ReadonlySet<string> {
    return this.#used;
  }

  /** A counter of the pool. */
  pool(field: string): number {
    return this.sum(`svc_pool_${field}_total`);
  }

  /** A gauge or timestamp of the pool. */
  poolGauge(field: string): number {
    return this.sum(`svc_pool_${field}`);
  }

  server(field: string): number {
    return this.sum(`svc_server_${field}_total`);
  }

  serverGauge(field: string): number {
    return this.sum(`svc_server_${field}`);
  }

  /** The samples of a family, in order; none when it has none. */
  samples(family: string): readonly CountedSample[] {
    this.#used.add(family);
    return this.#byFamily.get(family) ?? [];
  }

  /** The sum of a family's samples that have these labels. */
  sum(family: string, labels: Readonly<Record<string, string | number>> = {}): number {
    const wanted = Object.entries(labels);
    let sum = 0;
    for (const sample of this.samples(family)) {
      if (wanted.every(([name, value]) => sample.labels[name] === value)) sum += sample.value;
    }
    return sum;
  }

  /** Values that a histogram has recorded, by its field. */
  recorded(histogram: string): number {
    return this.#recorded[histogram] ?? 0;
  }
}
