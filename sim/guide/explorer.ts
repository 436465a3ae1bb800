/**
 * Decides what a guided exploration runs: seeds of the swarm, seeds of the other scenarios, and variants of the plans
 * that its corpus keeps. Runs are decided in batches; what a batch reached counts for the next ones. The same first seed
 * and corpus make the same decisions.
 *
 * Seeds of other scenarios get three fifths of the runs. Of the others, variants get at most a fifth while they reach
 * less that is new than seeds of the swarm do, and at most half once they reach more.
 */
import type { Plan } from '../plan/plan.ts';
import { WorldRandom } from '../world/core/random.ts';
import type { Corpus } from './corpus.ts';
import type { StorySeed, StoryState } from './stories.ts';
import { Stories } from './stories.ts';
import { variantOf } from './variants.ts';

/** One run to make. */
export type Attempt = {
  /** Its number in the exploration. */
  readonly number: number;
} & (
  | { readonly kind: 'seed'; readonly seed: number }
  /** A seed of another scenario. */
  | ({ readonly kind: 'story' } & StorySeed)
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
  readonly stories: Yield;
  /** What is known of each of the other scenarios. */
  readonly known: readonly StoryState[];
}

/** How much one kind of runs achieves. */
export interface Yield {
  readonly runs: number;
  readonly fresh: number;
}

/** Runs of one batch. */
export const batchSize = 8;
/** Percent of the runs that are seeds of other scenarios. */
const storyPercent = 60;
/** Percent of the other runs that are variants: at least; at most while they reach less than seeds; at most. */
const sharePercent = { least: 10, poor: 20, most: 50 } as const;
/** What each kind of runs is counted under. */
const kinds = { seed: 'seeds', story: 'stories', variant: 'variants' } as const;
/** Seeds before the first variant. */
const seedsFirst = 16;

/** What an exploration draws from. */
export interface Sources {
  /** The plan of a seed of the swarm. */
  readonly planOfSeed: (seed: number) => Plan;
  /** Names of the other scenarios, and the plan of a seed of one of them. */
  readonly stories: readonly string[];
  readonly planOfStory: (story: StorySeed) => Plan;
}

/** Decides, and learns. */
export class Explorer {
  readonly corpus: Corpus;
  readonly #firstSeed: number;
  readonly #sources: Sources;
  readonly #stories: Stories;
  #state: Omit<ExplorerState, 'known'>;

  /** `state`: that of the exploration to go on with. */
  constructor(corpus: Corpus, firstSeed: number, sources: Sources, state?: ExplorerState) {
    this.corpus = corpus;
    this.#firstSeed = firstSeed;
    this.#sources = sources;
    this.#stories = new Stories(sources.stories, firstSeed, corpus.coverage, state?.known);
    const none = { runs: 0, fresh: 0 };
    this.#state = state ?? { runs: 0, nextSeed: firstSeed, seeds: none, variants: none, stories: none };
  }

  get state(): ExplorerState {
    return { ...this.#state, known: this.#stories.state };
  }

  /** The next batch. */
  next(): readonly Attempt[] {
    const { runs } = this.#state;
    const random = WorldRandom.root(`guide/${this.#firstSeed}/${runs}`);
    return Array.from({ length: batchSize }, (_, index) => this.#attempt(runs + index, random));
  }

  #attempt(number: number, random: WorldRandom): Attempt {
    const story = random.below(100) < storyPercent ? this.#stories.choose(random) : undefined;
    if (story !== undefined) return { kind: 'story', number, ...story };
    const kept = random.below(100) < this.sharePercent ? this.corpus.choose(random) : undefined;
    return kept === undefined ? this.#seed(number) : this.#variant(number, kept, random);
  }

  /** Percent of the next runs of the swarm that are variants. */
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
      const fresh = attempt.kind === 'story' ? this.#tookStory(attempt, cells) : this.#kept(attempt, cells);
      const kind = kinds[attempt.kind];
      const { runs, fresh: before } = this.#state[kind];
      const yielded = { runs: runs + 1, fresh: before + (fresh > 0 ? 1 : 0) };
      this.#state = { ...this.#state, runs: this.#state.runs + 1, [kind]: yielded };
    });
  }

  /** Their plans are not kept: what may be changed of them without a false alarm, no contract says. */
  #tookStory({ scenario }: StorySeed, cells: readonly string[]): number {
    const fresh = this.corpus.coverage.add(cells);
    this.#stories.took(scenario, cells);
    return fresh.length;
  }

  #kept(attempt: Exclude<Attempt, { kind: 'story' }>, cells: readonly string[]): number {
    const parent = attempt.kind === 'seed' ? '' : attempt.parent;
    const change = attempt.kind === 'seed' ? `seed ${attempt.seed}` : attempt.change;
    const plan = (): Plan => this.planOf(attempt);
    return this.corpus.add(plan, cells, { name: String(attempt.number), parent, change });
  }

  /** The plan of an attempt. */
  planOf(attempt: Attempt): Plan {
    switch (attempt.kind) {
      case 'seed':
        return this.#sources.planOfSeed(attempt.seed);
      case 'story':
        return this.#sources.planOfStory(attempt);
      case 'variant':
        return attempt.plan;
    }
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
    const donor = this.#sources.planOfSeed(this.#firstSeed + random.below(100_000));
    const { plan, text } = variantOf(kept.plan, donor, random);
    return { kind: 'variant', number, plan, parent: kept.name, change: text };
  }
}
