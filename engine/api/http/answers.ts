/**
 * Builds the answers of Riak's endpoints: Riak's status codes and plain texts, with the product's error code in
 * `X-Lockstep-Error`.
 */
import type { LockstepError, QuorumName } from '../../base/errors.ts';
import { errorTable } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { HttpResponse } from '../../io/http.ts';
import type { Purpose } from '../client-observer.ts';

/** The media type of Riak's text answers. */
export const plainText = 'text/plain';

/** An answer with a plain text body; `headers` may replace the Content-Type. */
export function textAnswer(
  status: number,
  body: string,
  headers?: Readonly<Record<string, string>>,
): HttpResponse {
  return { status, headers: { 'Content-Type': plainText, ...headers }, body };
}

/** An answer without a body. `headers` has at least the Content-Type, which some clients read of every answer. */
export function emptyAnswer(
  status: number,
  headers: Readonly<Record<string, string>> & { readonly 'Content-Type': string },
): HttpResponse {
  return { status, headers, body: '' };
}

/** An error answer. `status` is given where Riak's differs from that of `base/errors.ts`. */
export function errorAnswer(
  code: ErrorCode,
  text: string,
  headers: Readonly<Record<string, string>> = {},
  status: number = errorTable[code].status,
): HttpResponse {
  const all = { 'X-Lockstep-Error': code, ...headers, ...retryHeader(status) };
  const failure = { code, definite: errorTable[code].definite };
  return { ...textAnswer(status, `${text}\n`, all), failure };
}

/**
 * When to try a refused request again: a node that refuses now may serve a second later (a queue drains, a replica
 * returns), and a rate allows a request each second at least.
 */
export function retryHeader(status: number): Readonly<Record<string, string>> {
  return status === 503 || status === 429 ? { 'Retry-After': '1' } : {};
}

/** A 404 that is not counted as an error: the object that the client asked for does not exist. */
export function absenceAnswer(text: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return textAnswer(errorTable.NotFound.status, `${text}\n`, { 'X-Lockstep-Error': 'NotFound', ...headers });
}

/** The answer to a request that ended in `error`. */
export function answerOf(error: LockstepError, purpose: Purpose): HttpResponse {
  const { code, definite } = error;
  const answer = errorAnswer(code, textFor(error, purpose), definiteHeader(error));
  return { ...answer, failure: { code, definite } };
}

/** The names with which Riak's error texts begin. */
const quorumLabels: Readonly<Record<QuorumName, string>> = {
  ...{ r: 'R', pr: 'PR', w: 'W', dw: 'DW', pw: 'PW' },
  node_confirms: 'node_confirms',
};

/** Riak's `got/need`, followed by the error's text for people. */
function votesOf({ facts: { votes }, message }: LockstepError): string {
  return votes === undefined ? message : `${votes.got}/${votes.needed}\n${message}`;
}

/** The header that says that nothing was done, for errors that know it although their code leaves it open. */
export function definiteHeader({ facts }: LockstepError): Readonly<Record<string, string>> {
  return facts.definite === undefined ? {} : { 'X-Lockstep-Definite': 'true' };
}

function textFor(error: LockstepError, purpose: Purpose): string {
  switch (error.code) {
    case 'NoQuorum':
      return `${quorumLabels[error.facts.votes?.quorum ?? (purpose === 'read' ? 'r' : 'w')]}-value unsatisfied: ${votesOf(error)}`;
    case 'Timeout':
      return 'request timed out';
    case 'Internal':
      return `Error:\n${error.message}`;
    default:
      return error.message;
  }
}
