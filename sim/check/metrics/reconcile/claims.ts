/** Claims: a number that a node counts, with the bounds that the world knows for it. */

/** One equation of one incarnation: a metric, and the value that it must have. */
export interface Claim {
  /** For reports: the equation, in the names of the metrics. */
  readonly what: string;
  readonly value: number;
  /** Bounds, both included; equal where the world knows the number exactly. */
  readonly least: number;
  readonly most: number;
}

/** The value equals `truth` exactly. */
export function equal(what: string, value: number, truth: number): Claim {
  return { what, value, least: truth, most: truth };
}

/** The value is at least `truth` and at most `unknown` more: requests whose outcome was invisible from outside. */
export function upTo(what: string, value: number, truth: number, unknown: number): Claim {
  return { what, value, least: truth, most: truth + unknown };
}

/** The value lies between `least` and `most`, both included. */
export function between(what: string, value: number, least: number, most: number): Claim {
  return { what, value, least, most };
}

/** The sum of the counts of these codes. */
export function sumOf(counts: Readonly<Record<string, number>>, codes: readonly string[]): number {
  return codes.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
}

/** Whether the value lies within the claim's bounds. */
export function holds({ value, least, most }: Claim): boolean {
  return value >= least && value <= most;
}

/** The claim as a sentence for a report. */
export function describeClaim({ what, value, least, most }: Claim): string {
  const truth = least === most ? String(least) : `${least} to ${most}`;
  return `${what}: the node counts ${value}, the truth is ${truth}`;
}
