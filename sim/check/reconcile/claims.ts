/** What equations are made of: a number that a node counts, and what the world knows that it must be. */

export interface Claim {
  /** For people: the equation in the interface's own names. */
  readonly what: string;
  readonly value: number;
  /** Both included; the same number wherever the world knows it exactly. */
  readonly least: number;
  readonly most: number;
}

export function equal(what: string, value: number, truth: number): Claim {
  return { what, value, least: truth, most: truth };
}

/** `truth`, and up to `unknown` more: things that ended where the world could not see how. */
export function upTo(what: string, value: number, truth: number, unknown: number): Claim {
  return { what, value, least: truth, most: truth + unknown };
}

export function between(what: string, value: number, least: number, most: number): Claim {
  return { what, value, least, most };
}

/** Of these names. */
export function sumOf(counts: Readonly<Record<string, number>>, codes: readonly string[]): number {
  return codes.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
}

export function holds({ value, least, most }: Claim): boolean {
  return value >= least && value <= most;
}

export function describeClaim({ what, value, least, most }: Claim): string {
  const truth = least === most ? String(least) : `${least} to ${most}`;
  return `${what}: the node counts ${value}, the truth is ${truth}`;
}
