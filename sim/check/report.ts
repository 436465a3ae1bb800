/**
 * Reports of checks: whether the invariant held, how much was compared, and the first violation. A check that compared
 * too little has not passed: `withFloor` turns it into a failure named `vacuous`.
 */
import { LockstepError } from '../../engine/base/errors.ts';

/** Invariants of the simulator's users (user-invariants.ts). A user's invariant never has a built-in name. */
export type UserInvariantName = Lowercase<string>;

/** The subject of a report: the name of a built-in invariant's row (invariants.ts), or of a user's invariant. */
export type ReportedInvariant = Lowercase<string>;

/** A violation, as a sentence with its time. */
export interface BadEvent {
  /** Virtual time in microseconds. */
  readonly atUs: number;
  readonly text: string;
}

/** The result of one check. */
export interface CheckReport {
  readonly invariant: ReportedInvariant;
  readonly ok: boolean;
  /** Comparisons made. */
  readonly checked: number;
  /** Number of things that could not be compared; the check's header gives the reasons. */
  readonly skipped: number;
  /** The earliest violation. */
  readonly firstBad: BadEvent | undefined;
  /** Sentences, the first violations first; at most `reasonsMax`. */
  readonly reasons: readonly string[];
  /** The invariant did not break, but too little was compared to state that it holds. */
  readonly vacuous: boolean;
}

/** Largest number of reasons in a report. */
export const reasonsMax = 10;

/**
 * Collects comparisons until it is sealed. A later comparison would be in no report, and a value that is no boolean has
 * no meaning: both throw `BadRequest` at the caller.
 */
export class Tally {
  readonly #invariant: ReportedInvariant;
  readonly #bad: BadEvent[] = [];
  #checked = 0;
  #skipped = 0;
  #sealed = false;

  /** `of`: a built-in invariant's name, or a user's invariant. */
  constructor(of: ReportedInvariant | { readonly name: UserInvariantName }) {
    this.#invariant = typeof of === 'string' ? of : of.name;
  }

  /** Makes one comparison; `text` is called only if it failed. `atUs`: virtual time in microseconds. */
  compare(holds: boolean, atUs: number, text: () => string): void {
    this.#mustBeOpen();
    if (!isFlag(holds)) {
      disown(holds);
      throw this.#refusal(`compares by ${nameOf(holds)}: true or false is expected`);
    }
    this.#checked += 1;
    if (!holds) this.#bad.push({ atUs, text: text() });
  }

  skip(count = 1): void {
    this.#mustBeOpen();
    this.#skipped += count;
  }

  /** Accepts no further comparison. */
  seal(): void {
    this.#sealed = true;
  }

  #mustBeOpen(): void {
    if (this.#sealed) throw this.#refusal('goes on after its check has returned: that is in no report');
  }

  #refusal(complaint: string): LockstepError {
    return new LockstepError('BadRequest', `the invariant ${this.#invariant} ${complaint}`);
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

/** Checks at run time, because callers may not be type-checked. */
function isFlag(given: unknown): given is boolean {
  return typeof given === 'boolean';
}

/** A description of an unexpected value for an error text: `a promise`, `undefined`, `a number`. */
export function nameOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (isThenable(given)) return 'a promise';
  return Array.isArray(given) ? 'a list' : `${typeof given === 'object' ? 'an' : 'a'} ${typeof given}`;
}

/** Whether the value is a promise, or behaves like one. */
export function isThenable(given: unknown): given is PromiseLike<unknown> {
  return typeof given === 'object' && given !== null && 'then' in given && typeof given.then === 'function';
}

/**
 * Ignores how a refused promise ends: its caller already has an error, and a rejection must not count as a later run's
 * failure.
 */
export function disown(given: unknown): void {
  if (isThenable(given)) Promise.resolve(given).catch(() => undefined);
}

/** The report itself, or a failure if fewer than `checkedMin` comparisons were made. */
export function withFloor(report: CheckReport, checkedMin: number): CheckReport {
  if (report.checked >= checkedMin || !report.ok) return report;
  const reason = `${report.invariant} compared ${report.checked}, at least ${checkedMin} are expected: the run proves nothing about it`;
  return { ...report, ok: false, vacuous: true, reasons: [reason, ...report.reasons] };
}

/** Joins the parts of one invariant's report; undefined parts are left out. */
export function joinReports(
  first: CheckReport,
  ...others: readonly (CheckReport | undefined)[]
): CheckReport {
  return others.filter((part) => part !== undefined).reduce(joinTwo, first);
}

/** The report without its comparisons: a violation in it counts, and what holds counts toward no floor. */
export function uncounted(report: CheckReport): CheckReport {
  return { ...report, checked: 0 };
}

function joinTwo(one: CheckReport, other: CheckReport): CheckReport {
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
