/**
 * Finds rows of the tables of faults, invariants and mutants by name, or by the code that preceded the name: old plan
 * files stay valid.
 */
import { distance } from 'fastest-levenshtein';

/** The identity of a row. */
export interface Named {
  /** Lower case, words joined by dashes; unique within its table. */
  readonly name: string;
  /** The old code, accepted as an alias: `INV4`. */
  readonly code: string;
}

/** Number of names that an error about an unknown name suggests. */
const offeredMax = 3;

/** Longer input is not compared, because the edit distance takes quadratic time. */
const comparedMax = 64;

/** The row with that name or code; undefined if there is none. */
export function findNamed<Row extends Named>(rows: readonly Row[], given: string): Row | undefined {
  return rows.find(({ name }) => name === given) ?? rows.find(({ code }) => code === given);
}

/** The names with the smallest edit distance from `given`, by name or by code: `power-loss, slow-disk, bit-rot`. */
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
