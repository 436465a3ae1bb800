/**
 * Decides what a guided exploration runs: seeds of the swarm, and variants of the plans that its corpus keeps. Runs are
 * decided in batches; what a batch reached counts for the next ones. The same first seed and corpus make the same
 * decisions.
 *
 * Variants get at most a fifth of the runs while they reach less that is new than seeds do, and at most half once they
 * reach more. So where guidance is of no use, four fifths of the time go to plain seeds.
 */
import type { Plan } from '../plan/plan.ts';
import { WorldRandom } from '../world/core/random.ts';
import type { Corpus } from './corpus.ts';
import { variantOf } from './variants.ts';

/** One run to make. */
export type Attempt = {
  /** Its number in the exploration. */
  readonly number: number;
} & (
  | { readonly kind: 'seed'; readonly seed: number }
  | { readonly kind: 'variant'; readonly plan: Plan; readonly parent: string; readonly change: string }
);

/** What an exploration knows beside its corpus. */
export interface ExplorerState {
  /** Runs made. */
  readonly runs: number;
  readonly nextSeed: number;
  /** Runs of each kind, and those of them that reached something new. */
  readonly seeds: Yield;
  readonly variants: Yield;
}

/** How much one kind of runs achieves. */
export interface Yield {
  readonly runs: number;
  readonly fresh: number;
}

/** Runs of one batch. */
export const batchSize = 8;
/** Percent of the runs that are variants: at least; at most while they reach less than seeds; at most. */
const sharePercent = { least: 10, poor: 20, most: 50 } as const;
/** Seeds before the first variant. */
const seedsFirst = 16;

/** Makes the plan of a seed of the swarm. */
export type PlanOfSeed = (seed: number) => Plan;

/** Decides, and learns. */
export class Explorer {
  readonly corpus: Corpus;
  readonly #firstSeed: number;
  readonly #planOfSeed: PlanOfSeed;
  #state: ExplorerState;

  /** `state`: that of the exploration to go on with. */
  constructor(corpus: Corpus, firstSeed: number, planOfSeed: PlanOfSeed, state?: ExplorerState) {
    this.corpus = corpus;
    this.#firstSeed = firstSeed;
    this.#planOfSeed = planOfSeed;
    const none = { runs: 0, fresh: 0 };
    this.#state = state ?? { runs: 0, nextSeed: firstSeed, seeds: none, variants: none };
  }

  get state(): ExplorerState {
    return this.#state;
  }

  /** The next batch. */
  next(): readonly Attempt[] {
    const { runs } = this.#state;
    const random = WorldRandom.root(`guide/${this.#firstSeed}/${runs}`);
    const share = this.sharePercent;
    const attempts: Attempt[] = [];
    for (let number = runs; number < runs + batchSize; number++) {
      const kept = random.below(100) < share ? this.corpus.choose(random) : undefined;
      attempts.push(kept === undefined ? this.#seed(number) : this.#variant(number, kept, random));
    }
    return attempts;
  }

  /** Percent of the next runs that are variants. */
  get sharePercent(): number {
    const { seeds, variants } = this.#state;
    if (seeds.runs < seedsFirst) return 0;
    const rate = ({ runs, fresh }: Yield): number => (fresh + 1) / (runs + 2);
    const [one, other] = [rate(variants), rate(seeds)];
    const most = one > other ? sharePercent.most : sharePercent.poor;
    return Math.round(Math.min(most, Math.max(sharePercent.least, (100 * one) / (one + other))));
  }

  /** Learns what the runs of a batch reached; `reached` stands in the order of the attempts. */
  took(attempts: readonly Attempt[], reached: readonly (readonly string[])[]): void {
    attempts.forEach((attempt, index) => {
      const cells = reached[index] ?? [];
      const parent = attempt.kind === 'seed' ? '' : attempt.parent;
      const change = attempt.kind === 'seed' ? `seed ${attempt.seed}` : attempt.change;
      const plan = (): Plan => this.planOf(attempt);
      const fresh = this.corpus.add(plan, cells, { name: String(attempt.number), parent, change });
      const kind = attempt.kind === 'seed' ? 'seeds' : 'variants';
      const { runs, fresh: before } = this.#state[kind];
      const yielded = { runs: runs + 1, fresh: before + (fresh > 0 ? 1 : 0) };
      this.#state = { ...this.#state, runs: this.#state.runs + 1, [kind]: yielded };
    });
  }

  /** The plan of an attempt. */
  planOf(attempt: Attempt): Plan {
    return attempt.kind === 'seed' ? this.#planOfSeed(attempt.seed) : attempt.plan;
  }

  #seed(number: number): Attempt {
    const seed = this.#state.nextSeed;
    this.#state = { ...this.#state, nextSeed: seed + 1 };
    return { kind: 'seed', number, seed };
  }

  #variant(
    number: number,
    kept: { readonly name: string; readonly plan: Plan },
    random: WorldRandom,
  ): Attempt {
    const donor = this.#planOfSeed(this.#firstSeed + random.below(100_000));
    const { plan, text } = variantOf(kept.plan, donor, random);
    return { kind: 'variant', number, plan, parent: kept.name, change: text };
  }
}
