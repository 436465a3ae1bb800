/**
 * What a check says: whether its invariant held, how much it compared, and the first event that broke it. A check that
 * compared too little has not passed: `withFloor` turns it into a failure named `vacuous`.
 */

/** Invariants by their number in the catalogue (sim/README.md lists those that exist). */
export const invariantIds = [
  ...(['INV1', 'INV2', 'INV3', 'INV4', 'INV5', 'INV6', 'INV7', 'INV8', 'INV9'] as const),
  ...([
    'INV10',
    'INV11',
    'INV12',
    'INV13',
    'INV14',
    'INV15',
    'INV16',
    'INV17',
    'INV18',
    'INV19',
    'INV20',
    'INV21',
    'INV22',
    'INV23',
    'INV24',
    'INV25',
    'INV26',
    'INV27',
    'INV28',
    'INV29',
    'INV31',
    'INV32',
    'INV33',
  ] as const),
] as const;

export type InvariantId = (typeof invariantIds)[number];

/** Invariants that whoever uses the simulator adds (own-invariants.ts): lower case, so that no built-in one is meant. */
export type OwnInvariantName = Lowercase<string>;

export type InvariantName = InvariantId | OwnInvariantName;

export interface BadEvent {
  /** Virtual time in microseconds. */
  readonly atUs: number;
  readonly text: string;
}

export interface CheckReport {
  readonly invariant: InvariantName;
  readonly ok: boolean;
  /** Comparisons made. */
  readonly checked: number;
  /** Things that could not be compared, with the reason in the check's header. */
  readonly skipped: number;
  /** The earliest violation. */
  readonly firstBad: BadEvent | undefined;
  /** Sentences, the first violations first; at most `reasonsMax`. */
  readonly reasons: readonly string[];
  /** The invariant did not break; too little was compared to say that it holds. */
  readonly vacuous: boolean;
}

export const reasonsMax = 10;

/** Gathers comparisons; `report` closes the account. */
export class Tally {
  readonly #invariant: InvariantName;
  readonly #bad: BadEvent[] = [];
  #checked = 0;
  #skipped = 0;

  constructor(invariant: InvariantName) {
    this.#invariant = invariant;
  }

  /** One comparison; `text` is asked for only when it failed. */
  compare(holds: boolean, atUs: number, text: () => string): void {
    this.#checked += 1;
    if (!holds) this.#bad.push({ atUs, text: text() });
  }

  skip(count = 1): void {
    this.#skipped += count;
  }

  report(): CheckReport {
    const bad = this.#bad.toSorted((left, right) => left.atUs - right.atUs);
    return {
      invariant: this.#invariant,
      ok: bad.length === 0,
      checked: this.#checked,
      skipped: this.#skipped,
      firstBad: bad[0],
      reasons: bad.slice(0, reasonsMax).map((event) => event.text),
      vacuous: false,
    };
  }
}

/** The report itself, or a failure when fewer than `checkedMin` comparisons were made. */
export function withFloor(report: CheckReport, checkedMin: number): CheckReport {
  if (report.checked >= checkedMin || !report.ok) return report;
  const reason = `${report.invariant} compared ${report.checked}, at least ${checkedMin} are expected: the run proves nothing about it`;
  return { ...report, ok: false, vacuous: true, reasons: [reason, ...report.reasons] };
}

/** Two reports of one invariant as one. */
export function joinReports(one: CheckReport, other: CheckReport): CheckReport {
  const bad = [one.firstBad, other.firstBad].filter((event) => event !== undefined);
  return {
    invariant: one.invariant,
    ok: one.ok && other.ok,
    checked: one.checked + other.checked,
    skipped: one.skipped + other.skipped,
    firstBad: bad.toSorted((left, right) => left.atUs - right.atUs)[0],
    reasons: [...one.reasons, ...other.reasons].slice(0, reasonsMax),
    vacuous: false,
  };
}
