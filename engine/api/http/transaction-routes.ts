/**
 * The endpoints of transactions: run one (cluster-wide, or in the path's bucket), look one up by xid, list those in
 * doubt on this node, and take a heuristic decision over one.
 */
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import { parseFlat } from '../../base/json-text.ts';
import type { Io } from '../../io/io.ts';
import type { Permit } from '../../auth/permit.ts';
import type { HttpRequest, HttpResponse } from '../../io/http.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type {
  InDoubtEntry,
  Knowledge,
  OperatorDecision,
  TransactionOutcome,
} from '../../transactions/formats/outcomes.ts';
import type { TransactionService } from '../../transactions/transactions.ts';
import type { Xid } from '../../transactions/formats/xid.ts';
import type { ClientObserver, Purpose } from '../client-observer.ts';
import type { GuardedRoute } from '../http-guard.ts';
import type { TransactionLimits } from '../transaction-rules.ts';
import {
  asSent,
  BatchError,
  decisionOf,
  noBranchOf,
  noRecordOf,
  observeOutcome,
  withoutDetail,
  xidOf,
} from '../transaction-rules.ts';
import { percentDecode } from './percent.ts';
import { placeOf } from './place.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';
import { reportFailure, requestIdOf } from './request-id.ts';
import { boolean } from './quorum-query.ts';
import { parseTransaction } from './transaction-body.ts';

/** What the routes of transactions work with. */
export interface TransactionDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  readonly transactions: TransactionService;
  readonly limits: TransactionLimits;
  readonly observer: ClientObserver;
}

type Handler = (
  parts: TransactionDependencies,
  request: HttpRequest,
  times: RequestTimes | undefined,
  permit: Permit,
) => Promise<HttpResponse>;

/** The routes of this module. */
export function transactionRoutes(parts: TransactionDependencies): readonly GuardedRoute[] {
  return [
    route(parts, 'POST', '/transactions', 'write', runBatch),
    route(parts, 'POST', '/buckets/:bucket/transactions', 'write', runBatch),
    route(parts, 'POST', '/types/:type/buckets/:bucket/transactions', 'write', runBatch),
    route(parts, 'GET', '/transactions', 'read', listInDoubt),
    route(parts, 'GET', '/transactions/:id', 'read', findOne),
    route(parts, 'POST', '/transactions/:id/resolve', 'write', resolveOne),
  ];
}

function route(
  parts: TransactionDependencies,
  method: 'GET' | 'POST',
  path: string,
  purpose: Purpose,
  handler: Handler,
): GuardedRoute {
  return { method, path, handle: (request, permit) => serve(parts, request, permit, purpose, handler) };
}

async function serve(
  parts: TransactionDependencies,
  request: HttpRequest,
  permit: Permit,
  purpose: Purpose,
  handler: Handler,
): Promise<HttpResponse> {
  const { io, observer } = parts;
  const startUs = io.clock.nowUs();
  const times = observer.timesOf(startUs, request.headers);
  observer.received(purpose);
  try {
    return await handler(parts, request, times, permit);
  } catch (caught) {
    const error = asLockstepError(caught);
    if (error.code === 'Internal') reportFailure(io.log, error, request);
    return problemAnswer(error, error instanceof BatchError ? rulesOf(error) : {});
  } finally {
    const operation = handler === runBatch ? 'transaction' : purpose;
    observer.answered(io.clock.nowUs() - startUs, 'http', operation, times, requestIdOf(request));
  }
}

async function runBatch(
  parts: TransactionDependencies,
  request: HttpRequest,
  times: RequestTimes | undefined,
  permit: Permit,
): Promise<HttpResponse> {
  const place = request.params['bucket'] === undefined ? undefined : placeOf(request, 'types');
  const batch = parseTransaction(request.body, place, parts.limits);
  permit.mustReach(batch.operations.map(({ key }) => key));
  for (const { content } of batch.operations) parts.observer.payload(content.value.length);
  const outcome = await parts.transactions.run({ ...batch, times });
  observeOutcome(parts.observer, outcome, batch);
  return jsonAnswer(statusOf(outcome), outcomeBody(asSent(outcome, batch)));
}

async function listInDoubt(parts: TransactionDependencies, request: HttpRequest): Promise<HttpResponse> {
  const state = request.query.get('state');
  if (state !== 'in_doubt')
    throw new LockstepError('BadRequest', 'transactions can be listed with ?state=in_doubt');
  await Promise.resolve();
  return jsonAnswer(200, { transactions: parts.transactions.inDoubt().map(entryBody) });
}

async function findOne(
  parts: TransactionDependencies,
  request: HttpRequest,
  _: RequestTimes | undefined,
  permit: Permit,
): Promise<HttpResponse> {
  const xid = namedIn(request);
  if (boolean(request.query, 'members') === true) {
    return jsonAnswer(200, { transaction_id: xid, members: await parts.transactions.survey(xid) });
  }
  const known = await parts.transactions.find(xid);
  if (known !== undefined)
    return jsonAnswer(200, knowledgeBody(permit.isLimited ? withoutDetail(known) : known));
  throw noRecordOf(xid);
}

async function resolveOne(parts: TransactionDependencies, request: HttpRequest): Promise<HttpResponse> {
  const xid = namedIn(request);
  const decision = decisionIn(request.body);
  if (!(await parts.transactions.resolve(xid, decision))) throw noBranchOf(xid);
  return jsonAnswer(200, { transaction_id: xid, outcome: 'heuristic', heuristic: decision });
}

function namedIn(request: HttpRequest): Xid {
  return xidOf(textOf(percentDecode(request.params['id'] ?? '', 'the transaction')));
}

function decisionIn(body: Uint8Array): OperatorDecision {
  let decision: unknown;
  try {
    const given: unknown = parseFlat(Buffer.from(body).toString('utf8'));
    decision = typeof given === 'object' && given !== null ? Reflect.get(given, 'heuristic') : undefined;
  } catch {
    // The caller refuses it as it does any other body without a decision.
    decision = undefined;
  }
  return decisionOf(decision);
}

function statusOf(outcome: TransactionOutcome): number {
  if (outcome.kind === 'committed') return 200;
  if (outcome.kind === 'inDoubt') return 202;
  return outcome.reason === 'force_abort' ? 200 : 409;
}

/** JSON leaves out undefined members. */
function outcomeBody(outcome: TransactionOutcome): Readonly<Record<string, unknown>> {
  switch (outcome.kind) {
    case 'committed':
      return {
        transaction_id: outcome.xid,
        outcome: 'committed',
        operations: outcome.operationCount,
        branches: outcome.branches.map(({ node, vote, pending }) => ({
          node,
          vote,
          pending: pending ? true : undefined,
        })),
      };
    case 'aborted':
      return {
        transaction_id: outcome.xid,
        outcome: 'aborted',
        reason: outcome.reason,
        detail: outcome.detail === '' ? undefined : outcome.detail,
      };
    case 'inDoubt':
      return { outcome: 'in_doubt', transaction_id: outcome.xid };
  }
}

function knowledgeBody(known: Knowledge): Readonly<Record<string, unknown>> {
  switch (known.kind) {
    case 'committed':
      // Only one branch answered, which knows no others.
      if (known.operationCount === undefined) return { transaction_id: known.xid, outcome: 'committed' };
      return outcomeBody(known);
    case 'aborted':
    case 'inDoubt':
      return outcomeBody(known);
    case 'prepared': {
      const { xid, node, coordinator, keyCount, ageMs } = known;
      const branch = { node, state: 'prepared', keys: keyCount, age_ms: ageMs };
      return { transaction_id: xid, outcome: 'in_doubt', coordinator, branch };
    }
    case 'heuristic':
      return {
        transaction_id: known.xid,
        outcome: 'heuristic',
        heuristic: known.decided,
        branch: { node: known.node },
      };
  }
}

function entryBody({ xid, role, state, coordinator, branches, lost, ageMs }: InDoubtEntry): object {
  const gone = lost.length === 0 ? {} : { lost };
  return { transaction_id: xid, role, state, coordinator, branches, ...gone, age_ms: ageMs };
}

function rulesOf({ index, rule }: BatchError): Readonly<Record<string, unknown>> {
  return index === undefined ? { rule } : { operation: index, rule };
}
