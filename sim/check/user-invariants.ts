/**
 * Invariants of the simulator's users: pure functions over what clients did and saw, judged and reported like built-in
 * ones.
 */
import type { History, ReadOperation } from '../evidence/history.ts';
import { isRead } from '../evidence/history.ts';
import type { JobRecord } from '../evidence/jobs.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import { invariantTable } from './invariants.ts';
import { findNamed } from './named.ts';
import type { CheckReport, UserInvariantName } from './report.ts';
import { disown, isThenable, nameOf, Tally, withFloor } from './report.ts';

/** What clients did and saw in one run. Times are microseconds of virtual time. */
export interface Evidence {
  /** Every single get, put and delete, in the order of invocation; the reads after the calm too. */
  readonly operations: History;
  /** The reads after the calm, when everything is healed and no client writes any more. */
  readonly finalReads: readonly ReadOperation[];
  /** The transactions of clients; `final` marks those after the calm. */
  readonly transactions: TransactionHistory;
  /** The operations of Redis clients, likewise. */
  readonly redis: readonly RedisRecord[];
  /** MapReduce jobs, likewise. */
  readonly jobs: readonly JobRecord[];
}

/** A user's invariant. */
export interface Invariant {
  /** Its name in reports: lower case, words joined by dashes; no built-in name. */
  readonly name: UserInvariantName;
  /**
   * Least number of comparisons; with fewer, the run has proved nothing and fails. Default: 1. A plan whose own floors
   * are all 0, such as every shrunk plan, disables these floors too.
   */
  readonly floor?: number;
  /**
   * Compares what it finds in the evidence. It calls `tally.compare(holds, atUs, text)` for each comparison (`text`
   * describes a violation, `atUs` is its virtual time) and `tally.skip()` for what cannot be compared. It depends on
   * the evidence alone, changes nothing and returns nothing. It must not be `async`, because it is judged when it
   * returns.
   */
  readonly check: (evidence: Evidence, tally: Tally) => void;
}

/** The evidence of a run for users' invariants. */
export function evidenceOf(run: Omit<Evidence, 'finalReads'>): Evidence {
  const { operations, transactions, redis, jobs } = run;
  return {
    operations,
    finalReads: operations.filter(isRead).filter(({ final }) => final),
    transactions,
    redis,
    jobs,
  };
}

/** The reports of the user's invariants. Throws `BadRequest` for one that throws or returns something. */
export function checkOwn(
  invariants: readonly Invariant[],
  evidence: Evidence,
  asksForFloors: boolean,
): readonly CheckReport[] {
  return invariants.map((invariant) => {
    const report = reportOf(invariant, evidence);
    return asksForFloors ? withFloor(report, invariant.floor ?? 1) : report;
  });
}

function reportOf(invariant: Invariant, evidence: Evidence): CheckReport {
  const { name, check } = invariant;
  const tally = new Tally(invariant);
  let returned: unknown;
  try {
    returned = check(evidence, tally);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const detail = `the invariant ${name} threw: ${why}\nIt is to tell by tally.compare(holds, atUs, text) what does not hold.`;
    throw new LockstepError('BadRequest', detail, { cause });
  } finally {
    tally.seal();
  }
  if (returned !== undefined) throw refusalOf(name, returned);
  return tally.report();
}

function refusalOf(name: UserInvariantName, returned: unknown): LockstepError {
  disown(returned);
  const what = `the invariant ${name} returned ${nameOf(returned)}${isThenable(returned) ? ' (is it async?)' : ''}`;
  return new LockstepError('BadRequest', `${what}: it is to compare what it is given, and to return nothing`);
}

/** Throws `BadRequest` unless every element is an invariant with a name of its own that is not built in. */
export function mustBeInvariants(invariants: readonly Invariant[]): void {
  const names = new Set<string>();
  for (const [index, { name, floor, check }] of invariants.entries()) {
    const given: unknown = name;
    if (typeof given !== 'string' || !/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(given)) {
      const detail = `invariants[${index}].name: a name like no-update-is-lost is expected (lower case, digits, dashes), not ${JSON.stringify(given)}`;
      throw new LockstepError('BadRequest', detail);
    }
    if (names.has(name)) throw new LockstepError('BadRequest', `two invariants are called ${name}`);
    if (findNamed(invariantTable, name) !== undefined)
      throw new LockstepError('BadRequest', `${name} is a built-in invariant; give yours another name`);
    names.add(name);
    if (typeof check !== 'function') {
      throw new LockstepError('BadRequest', `${name}.check: a function (evidence, tally) is expected`);
    }
    if (floor !== undefined && (!Number.isSafeInteger(floor) || floor < 0)) {
      throw new LockstepError(
        'BadRequest',
        `${name}.floor: a whole number of at least 0 is expected, not ${floor}`,
      );
    }
  }
}
