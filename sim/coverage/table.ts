/**
 * What a table of coverage is: a finite list of cells, each a combination that runs may reach, with excuses for those
 * that no run can reach. A cell that is neither reached nor excused is a hole in what the testbed tries.
 */

/** A combination: one value for each axis of its table. */
export type Cell = readonly string[];

/** Why cells cannot be reached. */
export interface Excuse {
  /** One entry for each axis: the values that it applies to, or `*` for all. */
  readonly where: readonly (readonly string[] | '*')[];
  /** One sentence. */
  readonly reason: string;
}

/** One table. */
export interface CoverageTable {
  /** The first part of its cells' ids. */
  readonly name: string;
  /** What it counts, as a phrase. */
  readonly title: string;
  /** The name of each axis. */
  readonly axes: readonly string[];
  readonly cells: readonly Cell[];
  readonly excuses: readonly Excuse[];
}

/** The id of a cell: `messages/gossip/rebuilding`. */
export function idOf(table: Pick<CoverageTable, 'name'>, cell: Cell): string {
  return [table.name, ...cell].join('/');
}

/** Why the cell cannot be reached; undefined if it can. */
export function excuseOf({ excuses }: Pick<CoverageTable, 'excuses'>, cell: Cell): string | undefined {
  return excuses.find(({ where }) => {
    return where.every((values, axis) => values === '*' || values.includes(cell[axis] ?? ''));
  })?.reason;
}

/** Every combination of the axes' values. */
export function allCells(...axes: readonly (readonly string[])[]): readonly Cell[] {
  return axes.reduce<readonly Cell[]>(
    (cells, values) => cells.flatMap((cell) => values.map((value) => [...cell, value])),
    [[]],
  );
}
