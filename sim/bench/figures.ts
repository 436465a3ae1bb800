/** Medians, quantiles and tables for the benchmarks. */

/** The middle value of a list (the lower one of two); NaN for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value that `share` (0..1) of the list does not exceed; NaN for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** A median with the 95 % interval of the true one (order statistics, without an assumption about the distribution). */
export interface Estimate {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The median of the values with its interval. */
export function estimate(values: readonly number[]): Estimate {
  const sorted = values.toSorted((left, right) => left - right);
  const below = Math.max(1, Math.floor(sorted.length / 2 - 0.98 * Math.sqrt(sorted.length)));
  return {
    median: median(sorted),
    low: sorted[below - 1] ?? NaN,
    high: sorted[sorted.length - below] ?? NaN,
  };
}

/** `12,345` or, below 100, `12.3`. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value < 100 ? value.toFixed(value < 10 ? 2 : 1) : Math.round(value).toLocaleString('en-US');
}

/** Columns aligned by width: text to the left, figures to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}
