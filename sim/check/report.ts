/**
 * What a check says: whether its invariant held, how much it compared, and the first event that broke it. A check that
 * compared too little has not passed: `withFloor` turns it into a failure named `vacuous`.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import type { InvariantName } from './invariants.ts';

/** Invariants that users of the simulator add (user-invariants.ts): none of them is called like a built-in one. */
export type UserInvariantName = Lowercase<string>;

/** What a report is about: a built-in invariant (`InvariantName`), or one that the user added. */
export type ReportedInvariant = InvariantName | UserInvariantName;

export interface BadEvent {
  /** Virtual time in microseconds. */
  readonly atUs: number;
  readonly text: string;
}

export interface CheckReport {
  readonly invariant: ReportedInvariant;
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

/**
 * Gathers comparisons until it is sealed. What comes later would be in no report, so that whoever compares then, or by
 * something that is neither true nor false, is told so where it is done: `BadRequest`.
 */
export class Tally {
  readonly #invariant: ReportedInvariant;
  readonly #bad: BadEvent[] = [];
  #checked = 0;
  #skipped = 0;
  #sealed = false;

  /** `of`: a built-in invariant's name, or an invariant that the user added. */
  constructor(of: InvariantName | { readonly name: UserInvariantName }) {
    this.#invariant = typeof of === 'string' ? of : of.name;
  }

  /** One comparison; `text` is asked for only when it failed. */
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

  /** Nothing is counted any more. */
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

/** What callers give that no compiler has looked at. */
function isFlag(given: unknown): given is boolean {
  return typeof given === 'boolean';
}

/** What a person calls something that should not be there: `a promise`, `undefined`, `a number`. */
export function nameOf(given: unknown): string {
  if (given === undefined || given === null) return String(given);
  if (isThenable(given)) return 'a promise';
  return Array.isArray(given) ? 'a list' : `${typeof given === 'object' ? 'an' : 'a'} ${typeof given}`;
}

export function isThenable(given: unknown): given is PromiseLike<unknown> {
  return typeof given === 'object' && given !== null && 'then' in given && typeof given.then === 'function';
}

/** Whose promise has been refused hears of that; how it ends must not be taken for the failure of a later run. */
export function disown(given: unknown): void {
  if (isThenable(given)) Promise.resolve(given).catch(() => undefined);
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
