/**
 * The scenarios beside the swarm that a guided exploration runs. Each concentrates on one part of the engine, and costs
 * half of what a seed of the swarm does. At first every one is run once, in random order. From then on a scenario whose
 * last run reached cells of coverage that few runs reach is likelier, and each run of it makes its next one less likely.
 */
import type { Random } from '../../engine/io/random.ts';
import type { Coverage } from '../coverage/coverage.ts';
import { rareOf, rarityOf } from './rarity.ts';

/** What is known of one scenario. */
export interface StoryState {
  readonly name: string;
  /** How often it was chosen. */
  readonly chosen: number;
  /** The cells that were rare when its last run had reached them. */
  readonly cells: readonly string[];
}

/** A seed of a scenario. */
export interface StorySeed {
  readonly scenario: string;
  readonly seed: number;
}

/** The chance of a scenario is a whole number of these. */
const chanceUnit = 1_000;

/** A scenario that reaches nothing rare counts as if it reached so much. */
const leastRarity = 0.1;

/** Chooses among scenarios. */
export class Stories {
  readonly #firstSeed: number;
  readonly #coverage: Coverage;
  readonly #states: Map<string, StoryState>;

  /** `states`: those of the exploration to go on with. A scenario that they lack is new. */
  constructor(
    names: readonly string[],
    firstSeed: number,
    coverage: Coverage,
    states: readonly StoryState[] = [],
  ) {
    this.#firstSeed = firstSeed;
    this.#coverage = coverage;
    const known = new Map(states.map((state) => [state.name, state]));
    this.#states = new Map(names.map((name) => [name, known.get(name) ?? { name, chosen: 0, cells: [] }]));
  }

  get state(): readonly StoryState[] {
    return [...this.#states.values()];
  }

  /** Chooses a scenario, and takes its next seed; undefined: there is none. */
  choose(random: Random): StorySeed | undefined {
    const untried = this.state.filter(({ chosen }) => chosen === 0);
    const all = untried.length > 0 ? untried : this.state;
    const chances = all.map((one) => this.#chanceOf(one));
    const sum = chances.reduce((total, chance) => total + chance, 0);
    if (sum === 0) return undefined;
    let left = random.below(sum);
    const story = all[chances.findIndex((chance) => (left -= chance) < 0)];
    if (story === undefined) return undefined;
    this.#states.set(story.name, { ...story, chosen: story.chosen + 1 });
    return { scenario: story.name, seed: this.#firstSeed + story.chosen };
  }

  /** A run of the scenario reached `cells`, which the coverage counts already. */
  took(name: string, cells: readonly string[]): void {
    const story = this.#states.get(name);
    if (story !== undefined) this.#states.set(name, { ...story, cells: rareOf(cells, this.#coverage) });
  }

  #chanceOf({ chosen, cells }: StoryState): number {
    return 1 + Math.floor((chanceUnit * (leastRarity + rarityOf(cells, this.#coverage))) / (1 + chosen));
  }
}
