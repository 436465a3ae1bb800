/** Numbers as texts for people. */

/** The number with commas between groups of three digits: `1,234.5`. */
export function grouped(value: number): string {
  const [whole = '', decimals] = String(value).split('.');
  const text = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return decimals === undefined ? text : `${text}.${decimals}`;
}

/** `1 fault`, `1,200 faults`. */
export function many(value: number, what: string): string {
  return `${grouped(value)} ${what}${value === 1 ? '' : 's'}`;
}
