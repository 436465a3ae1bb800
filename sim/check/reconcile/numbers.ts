/** Reading an account's numbers by the names that the interface gives them. */
import type { CountedSample, IncarnationAccount } from './account.ts';

/** Names of families by their fields: a run asks for the same few hundred tens of thousands of times. */
class FamilyNames {
  readonly #known = new Map<string, string>();
  readonly #prefix: string;
  readonly #suffix: string;

  constructor(prefix: string, suffix: string) {
    this.#prefix = prefix;
    this.#suffix = suffix;
  }

  of(field: string): string {
    const known = this.#known.get(field);
    if (known !== undefined) return known;
    const name = `${this.#prefix}${field}${this.#suffix}`;
    this.#known.set(field, name);
    return name;
  }
}

const poolCounters = new FamilyNames('svc_pool_', '_total');
const poolGauges = new FamilyNames('svc_pool_', '');
const serverCounters = new FamilyNames('svc_server_', '_total');
const serverGauges = new FamilyNames('svc_server_', '');
const none: readonly CountedSample[] = [];
const noNames: readonly string[] = [];

export class Numbers {
  readonly #byFamily = new Map<string, CountedSample[]>();
  readonly #used = new Set<string>();
  readonly #recorded: IncarnationAccount['recorded'];

  constructor({ counted, recorded }: IncarnationAccount) {
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
    return this.sum(poolCounters.of(field));
  }

  /** A gauge or timestamp of the pool. */
  poolGauge(field: string): number {
    return this.sum(poolGauges.of(field));
  }

  server(field: string): number {
    return this.sum(serverCounters.of(field));
  }

  serverGauge(field: string): number {
    return this.sum(serverGauges.of(field));
  }

  /** The samples of a family, in order; none when it has none. */
  samples(family: string): readonly CountedSample[] {
    this.#used.add(family);
    return this.#byFamily.get(family) ?? none;
  }

  /** The sum of a family's samples that have these labels. */
  sum(family: string, labels?: Readonly<Record<string, string | number>>): number {
    const names = labels === undefined ? noNames : Object.keys(labels);
    let sum = 0;
    for (const sample of this.samples(family)) {
      if (labels === undefined || hasLabels(sample, names, labels)) sum += sample.value;
    }
    return sum;
  }

  /** Values that a histogram has recorded, by its field. */
  recorded(histogram: string): number {
    return this.#recorded[histogram] ?? 0;
  }
}

function hasLabels(
  { labels }: CountedSample,
  names: readonly string[],
  wanted: CountedSample['labels'],
): boolean {
  for (const name of names) if (labels[name] !== wanted[name]) return false;
  return true;
}
