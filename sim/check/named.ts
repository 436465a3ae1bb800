/**
 * Rows of the tables of faults, invariants and planted bugs are found by their name, or by the code that they had before
 * they had names: old plan files and habits keep working.
 */
import { distance } from 'fastest-levenshtein';

export interface Named {
  /** Lower case, words joined by dashes; unique within its table. */
  readonly name: string;
  /** The old code, which is accepted for it: `INV4`. */
  readonly code: string;
}

/** Names that a complaint about an unknown one offers. */
const offeredMax = 3;

/** Nobody types a longer name, and the distance takes quadratic time. */
const comparedMax = 64;

/** The row of that name or code; undefined when there is none. */
export function findNamed<Row extends Named>(rows: readonly Row[], given: string): Row | undefined {
  return rows.find(({ name }) => name === given) ?? rows.find(({ code }) => code === given);
}

/** The names that take the fewest edits to come to from `given`, by name or by code: `power-loss, slow-disk, bit-rot`. */
export function nearestNames(rows: readonly Named[], given: string): string {
  const wanted = given.slice(0, comparedMax).toLowerCase();
  const editsTo = ({ name, code }: Named): number =>
    Math.min(distance(wanted, name), distance(wanted, code.toLowerCase()));
  const ranked = rows.map((row) => ({ name: row.name, edits: editsTo(row) }));
  return ranked
    .toSorted((left, right) => left.edits - right.edits)
    .slice(0, offeredMax)
    .map(({ name }) => name)
    .join(', ');
}
