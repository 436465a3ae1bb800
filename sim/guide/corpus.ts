/**
 * The kept plans of a guided exploration. A plan is kept if its run reached a cell of coverage that at most two earlier
 * runs had reached. Rarer cells make it likelier to be chosen; each choice makes the next one less likely. The tables
 * hold what counts as a pattern: kinds of messages by the state of their receiver, faults by the protocol steps in
 * flight, operations, settings, ring changes, recoveries (sim/coverage).
 */
import type { Random } from '../../engine/io/random.ts';
import { Coverage } from '../coverage/coverage.ts';
import type { CoverageCounts } from '../coverage/coverage.ts';
import type { Plan } from '../plan/plan.ts';

/** A kept plan. */
export interface KeptPlan {
  /** Names its file: `17`, the number of the run. */
  readonly name: string;
  readonly plan: Plan;
  /** From which kept plan it was made and how; of a seed of the swarm both are empty. */
  readonly parent: string;
  readonly change: string;
  /** The rare cells that its run reached. */
  readonly cells: readonly string[];
  /** How often variants of it were made. */
  chosen: number;
}

/** A corpus as plain data. */
export interface CorpusState {
  readonly kept: readonly KeptPlan[];
  readonly coverage: CoverageCounts;
}

/** A cell is rare while so many runs at most have reached it. */
const rareRunsMax = 3;
/** Most kept plans; beyond it the least likely one goes. */
const keptMax = 400;
/** The chance of a plan is a whole number of these. */
const chanceUnit = 1_000_000;

/** The kept plans of one exploration. */
export class Corpus {
  readonly coverage = new Coverage();
  readonly #kept: KeptPlan[];

  constructor(state?: CorpusState) {
    if (state !== undefined) this.coverage.addCounts(state.coverage);
    this.#kept = [...(state?.kept ?? [])];
  }

  get kept(): readonly KeptPlan[] {
    return this.#kept;
  }

  get state(): CorpusState {
    return { kept: this.#kept, coverage: this.coverage.counts };
  }

  /** Adds a run. Keeps its plan if the run reached something rare. Returns how many cells no run had reached before. */
  add(
    plan: () => Plan,
    reached: readonly string[],
    origin: Omit<KeptPlan, 'plan' | 'cells' | 'chosen'>,
  ): number {
    const fresh = this.coverage.add(reached);
    const cells = reached.filter((id) => this.coverage.runsOf(id) <= rareRunsMax);
    if (cells.length === 0) return 0;
    this.#kept.push({ ...origin, plan: plan(), cells, chosen: 0 });
    if (this.#kept.length > keptMax) this.#forgetOne();
    return fresh.length;
  }

  /** Chooses a plan by how rare its cells are now; undefined: none is kept. */
  choose(random: Random): KeptPlan | undefined {
    const chances = this.#kept.map((one) => this.#chanceOf(one));
    const sum = chances.reduce((total, chance) => total + chance, 0);
    if (sum === 0) return undefined;
    let left = random.below(sum);
    const at = chances.findIndex((chance) => (left -= chance) < 0);
    const chosen = this.#kept[at];
    if (chosen !== undefined) chosen.chosen += 1;
    return chosen;
  }

  #chanceOf({ cells, chosen }: KeptPlan): number {
    const rarity = cells.reduce((sum, id) => sum + weightOf(this.coverage.runsOf(id)), 0);
    return 1 + Math.floor((chanceUnit * Math.min(rarity, 4)) / (4 * (1 + chosen)));
  }

  #forgetOne(): void {
    const least = this.#kept.reduce((worst, one) =>
      this.#chanceOf(one) < this.#chanceOf(worst) ? one : worst,
    );
    this.#kept.splice(this.#kept.indexOf(least), 1);
  }
}

/** A cell counts by the square of its rarity. */
function weightOf(runs: number): number {
  return 1 / (runs * runs);
}
