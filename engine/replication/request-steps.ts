/** Steps that the dispatcher's reads and writes have in common: their spans and times, their plans, their errors. */
import { LockstepError } from '../base/errors.ts';
import type { RequestTimes } from '../base/request-times.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import { countCause } from './failure-causes.ts';
import type { ReadQuorum } from './needs.ts';
import type { DispatchPlan, Refusal } from './plan.ts';
import type { GetRequest } from './requests.ts';
import type { RoundDependencies } from './round-dependencies.ts';

/** Notes the begin of a dispatch. Its span; undefined if the request is not traced. */
export function began(
  { times, partOf }: Pick<GetRequest, 'times' | 'partOf'>,
  nowUs: number,
): OpenSpan | undefined {
  if (times === undefined) return partOf?.child('dispatch', nowUs);
  times.dispatched(nowUs);
  return times.dispatchSpan(nowUs);
}

/** Notes the end of a dispatch, which has failed with `error` if that is defined. */
export function concluded(
  { clock }: Pick<RoundDependencies, 'clock'>,
  times: RequestTimes | undefined,
  span: OpenSpan | undefined,
  error: unknown,
): void {
  if (times === undefined && span === undefined) return;
  const nowUs = clock.nowUs();
  times?.concluded(nowUs);
  if (span === undefined) return;
  const failure = error instanceof LockstepError ? error.code : undefined;
  if (times !== undefined) times.failure = failure;
  span.end(nowUs, failure);
}

/** Counts why a request failed; returns `error`. */
export function counted(
  parts: Pick<RoundDependencies, 'stats' | 'self' | 'settings'>,
  error: unknown,
  what: 'read' | 'write',
): unknown {
  if (!(error instanceof LockstepError)) return error;
  const { readLevel, writeLevel } = parts.settings;
  countCause(parts, error.code, what, what === 'read' ? readLevel : writeLevel);
  return error;
}

/** Returns the plan; throws the refusal as a definite error. */
export function admit(plan: DispatchPlan | Refusal, what: 'read' | 'write'): DispatchPlan {
  if (plan.kind === 'plan') return plan;
  // Nothing has been sent: the request definitely did not happen, whatever the code alone would leave open.
  const votes = plan.votes === undefined ? {} : { votes: plan.votes };
  const detail = `the ${what} was refused: ${plan.detail}`;
  throw new LockstepError(plan.code, detail, { definite: true, ...votes });
}

/** Adds to the error of a request with too few answers the parameter that asked for them. */
export function named(error: unknown, { need, quorum }: ReadQuorum, level: 'r' | 'w'): unknown {
  if (!(error instanceof LockstepError) || error.facts.votes === undefined) return error;
  const { votes } = error.facts;
  // Only the level asks for a majority of another datacenter.
  const isLevels = typeof need === 'object' && votes.needed < need.atLeast;
  const told = { ...votes, quorum: isLevels ? level : quorum };
  return new LockstepError(error.code, error.message, { ...error.facts, votes: told, cause: error });
}

/** Throws `Timeout` if the earlier steps of a request have used up its time. Nothing has been sent for this step. */
export function checkTime(leftUs: number): void {
  if (leftUs > 0) return;
  throw new LockstepError('Timeout', 'the timeout of the request passed between two steps', {
    definite: true,
  });
}
