/**
 * Sums the cells that runs reached, and estimates the chance that one more run reaches a new one: the share of the runs
 * that reached a cell which no other run reached. For every run it is known whether it was new to all others, and the
 * next run is like each of them (the leave-one-out form of Good and Turing's estimate; I. J. Good, 1953). The interval
 * is Wilson's for that share at 95 %.
 */
import type { Cell } from './table.ts';
import { excuseOf, idOf } from './table.ts';
import { coverageTables } from './tables.ts';

/** The chance that the next run reaches something new, each between 0 and 1. */
export interface Novelty {
  readonly chance: number;
  readonly low: number;
  readonly high: number;
}

/** A cell and how many runs reached it. */
export interface CellCount {
  readonly cell: Cell;
  readonly runs: number;
}

/** One table summed over runs. */
export interface TableCoverage {
  readonly name: string;
  readonly title: string;
  readonly axes: readonly string[];
  readonly reached: readonly CellCount[];
  /** Neither reached nor excused. */
  readonly empty: readonly Cell[];
  /** Excused and not reached. */
  readonly excused: readonly { readonly cell: Cell; readonly reason: string }[];
}

/** What runs reached of all tables. */
export interface CoverageSummary {
  readonly runs: number;
  readonly reached: number;
  /** Cells that no run reached and no excuse names. */
  readonly empty: number;
  /** The chance that the next run reaches a new cell; undefined for fewer than two runs. */
  readonly novelty: Novelty | undefined;
}

/** The sums as plain data, which a checkpoint holds. */
export interface CoverageCounts {
  readonly runs: number;
  /** Each cell with the number of runs that reached it, and the number of the first of them. */
  readonly cells: readonly (readonly [id: string, runs: number, first: number])[];
}

/** The quantile of the normal distribution for an interval of 95 %. */
const z = 1.96;

/** Sums over runs. */
export class Coverage {
  #runs = 0;
  /** By id: how many runs reached the cell, and the number of the first of them. */
  readonly #cells = new Map<string, { runs: number; readonly first: number }>();

  /** Number of runs. */
  get runs(): number {
    return this.#runs;
  }

  /** Number of different cells reached, those outside the tables too. */
  get reachedCount(): number {
    return this.#cells.size;
  }

  /** Adds one run. Returns the ids of cells that no run before it had reached. */
  add(reached: readonly string[]): readonly string[] {
    this.#runs += 1;
    const fresh: string[] = [];
    for (const id of reached) {
      const known = this.#cells.get(id);
      if (known !== undefined) known.runs += 1;
      else {
        this.#cells.set(id, { runs: 1, first: this.#runs });
        fresh.push(id);
      }
    }
    return fresh;
  }

  /** The sums as plain data. */
  get counts(): CoverageCounts {
    return {
      runs: this.#runs,
      cells: [...this.#cells].map(([id, { runs, first }]) => [id, runs, first] as const),
    };
  }

  /** Adds the sums of other runs. */
  addCounts({ runs, cells }: CoverageCounts): void {
    for (const [id, more, first] of cells) {
      const known = this.#cells.get(id);
      if (known === undefined) this.#cells.set(id, { runs: more, first: this.#runs + first });
      else known.runs += more;
    }
    this.#runs += runs;
  }

  /** How many runs reached the cell. */
  runsOf(id: string): number {
    return this.#cells.get(id)?.runs ?? 0;
  }

  /** The ids of the cells that at least `runs` runs reached, sorted. */
  reachedBy(runs: number): readonly string[] {
    return [...this.#cells].flatMap(([id, cell]) => (cell.runs >= runs ? [id] : [])).sort();
  }

  /** Undefined for fewer than two runs. */
  get novelty(): Novelty | undefined {
    const count = this.#runs;
    if (count < 2) return undefined;
    const alone = new Set<number>();
    for (const { runs, first } of this.#cells.values()) if (runs === 1) alone.add(first);
    const share = alone.size / count;
    const middle = (share + (z * z) / (2 * count)) / (1 + (z * z) / count);
    const spread =
      (z / (1 + (z * z) / count)) * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count));
    return { chance: share, low: Math.max(0, middle - spread), high: Math.min(1, middle + spread) };
  }

  /** The sums, for the line that `run` prints. */
  get summary(): CoverageSummary {
    const empty = this.tables.reduce((sum, table) => sum + table.empty.length, 0);
    return { runs: this.#runs, reached: this.reachedCount, empty, novelty: this.novelty };
  }

  /** All tables. */
  get tables(): readonly TableCoverage[] {
    return coverageTables.map((table) => {
      const reached: CellCount[] = [];
      const empty: Cell[] = [];
      const excused: { cell: Cell; reason: string }[] = [];
      for (const cell of table.cells) {
        const runs = this.runsOf(idOf(table, cell));
        const reason = excuseOf(table, cell);
        if (runs > 0) reached.push({ cell, runs });
        else if (reason === undefined) empty.push(cell);
        else excused.push({ cell, reason });
      }
      const { name, title, axes } = table;
      return { name, title, axes, reached, empty, excused };
    });
  }
}
