/** A total order of JSON values: null < false < true < numbers < texts (by UTF-16 code unit) < lists < objects. */
import { isArray, isObject } from './fields.ts';
import type { Json } from './job.ts';

/** Negative, 0 or positive as `left` is less than, equal to or greater than `right`; 0 only for equal values. */
export function compareJson(left: Json, right: Json): number {
  const rank = rankOf(left) - rankOf(right);
  if (rank !== 0) return rank;
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (isArray(left) && isArray(right)) return compareLists(left, right);
  if (isObject(left) && isObject(right)) return compareLists(entriesOf(left), entriesOf(right));
  return 0;
}

/** A text that equal values share and different values do not. */
export function canonicalText(value: Json): string {
  if (isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name] ?? null)}`).join(',')}}`;
}

function rankOf(value: Json): number {
  if (value === null) return 0;
  if (typeof value === 'boolean') return value ? 2 : 1;
  if (typeof value === 'number') return 3;
  if (typeof value === 'string') return 4;
  return isArray(value) ? 5 : 6;
}

function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

function compareLists(left: readonly Json[], right: readonly Json[]): number {
  for (const [index, one] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareJson(one, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function entriesOf(value: Readonly<Record<string, Json>>): readonly Json[] {
  const entries = Object.entries(value).sort(([one], [two]) => compareText(one, two));
  return entries.map((entry): Json => entry);
}
