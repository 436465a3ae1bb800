/** A difference between what the world says of a plan and what processes did. Plain data. */

/** What differs. */
export type DifferenceKind = 'outcome' | 'value' | 'final' | 'counter' | 'process' | 'invariant';

/** One difference. */
export interface Difference {
  readonly kind: DifferenceKind;
  /** Which operation, key, counter, node or invariant. */
  readonly name: string;
  readonly world: string;
  readonly processes: string;
}

/** Compared things, and those of them that differ. */
export interface Comparison {
  /** By kind: how many were compared. */
  readonly compared: Readonly<Partial<Record<DifferenceKind, number>>>;
  /** Operations whose outcome or value depends on time: the invariants alone judge them. */
  readonly byInvariants: number;
  readonly differences: readonly Difference[];
}

/** Collects comparisons. */
export class Comparer {
  readonly #compared: Partial<Record<DifferenceKind, number>> = {};
  readonly #differences: Difference[] = [];
  #byInvariants = 0;

  /** Compares two texts, and returns whether they are equal. `why`: said with what processes did, if they are not. */
  compare(kind: DifferenceKind, name: string, world: string, processes: string, why = ''): boolean {
    this.#compared[kind] = (this.#compared[kind] ?? 0) + 1;
    if (world === processes) return true;
    const said = why === '' ? processes : `${processes} (${why})`;
    this.#differences.push({ kind, name, world, processes: said });
    return false;
  }

  /** Leaves one more to the invariants. */
  leave(): void {
    this.#byInvariants += 1;
  }

  get comparison(): Comparison {
    return {
      compared: this.#compared,
      byInvariants: this.#byInvariants,
      differences: this.#differences,
    };
  }
}
