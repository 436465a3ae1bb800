/** Reads an account's samples by their metric names. */
import type { CountedSample, IncarnationAccount } from './account.ts';

/** Cache of family names by field: a run looks up the same few hundred names tens of thousands of times. */
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

/** The samples of one account; remembers which families the equations have used. */
export class Numbers {
  readonly #byFamily = new Map<string, CountedSample[]>();
  readonly #used = new Set<string>();
  readonly #recorded: IncarnationAccount['recorded'];

  constructor({ counted, recorded }: Pick<IncarnationAccount, 'counted' | 'recorded'>) {
    this.#recorded = recorded;
    for (const sample of counted) {
      const known = this.#byFamily.get(sample.family);
      if (known === undefined) this.#byFamily.set(sample.family, [sample]);
      else known.push(sample);
    }
  }

  /** Families that the equations have read so far. */
  get used(): ReadonlySet<string> {
    return this.#used;
  }

  /** The value of a counter of the pool. */
  pool(field: string): number {
    return this.sum(poolCounters.of(field));
  }

  /** The value of a gauge or timestamp of the pool. */
  poolGauge(field: string): number {
    return this.sum(poolGauges.of(field));
  }

  server(field: string): number {
    return this.sum(serverCounters.of(field));
  }

  serverGauge(field: string): number {
    return this.sum(serverGauges.of(field));
  }

  /** The samples of a family, in order; empty if there is none. */
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

  /** Number of values that a histogram has recorded, by its field. */
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
