/**
 * Answers of Riak's endpoints: Riak's status codes and plain texts, and the product's error code in
 * `X-Lockstep-Error` (spec: facts 6.3, decisions 8).
 */
import type { LockstepError, QuorumName } from '../../base/errors.ts';
import { errorTable } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { HttpResponse } from '../../io/http.ts';
import type { Purpose } from '../client-observer.ts';

export const plainText = 'text/plain';

export function textAnswer(
  status: number,
  body: string,
  headers?: Readonly<Record<string, string>>,
): HttpResponse {
  return { status, headers: { 'Content-Type': plainText, ...headers }, body };
}

/** `headers`: the Content-Type at least, which some clients read of every answer. */
export function emptyAnswer(
  status: number,
  headers: Readonly<Record<string, string>> & { readonly 'Content-Type': string },
): HttpResponse {
  return { status, headers, body: '' };
}

/** An error's answer; `status` where Riak's differs from the table's. */
export function errorAnswer(
  code: ErrorCode,
  text: string,
  headers: Readonly<Record<string, string>> = {},
  status: number = errorTable[code].status,
): HttpResponse {
  const all: Record<string, string> = { 'X-Lockstep-Error': code, ...headers };
  // What refuses now may serve a second later: a queue drains, a replica returns.
  if (status === 503) all['Retry-After'] = '1';
  const failure = { code, definite: errorTable[code].definite };
  return { ...textAnswer(status, `${text}\n`, all), failure };
}

/** An answer that looks like an error and is none: what the client asked about is not there. */
export function absenceAnswer(text: string, headers: Readonly<Record<string, string>> = {}): HttpResponse {
  return textAnswer(errorTable.NotFound.status, `${text}\n`, { 'X-Lockstep-Error': 'NotFound', ...headers });
}

/** The answer to a request that ended in an error. */
export function answerOf(error: LockstepError, purpose: Purpose): HttpResponse {
  const { code, definite } = error;
  const answer = errorAnswer(code, textFor(error, purpose), definiteHeader(error));
  return { ...answer, failure: { code, definite } };
}

/** How Riak's texts begin. */
const quorumLabels: Readonly<Record<QuorumName, string>> = {
  ...{ r: 'R', pr: 'PR', w: 'W', dw: 'DW', pw: 'PW' },
  node_confirms: 'node_confirms',
};

/** Riak's `got/need`, and for a person why. */
function votesOf({ facts: { votes }, message }: LockstepError): string {
  return votes === undefined ? message : `${votes.got}/${votes.needed}\n${message}`;
}

/** Whether a retry is safe shows in the code, but for errors that know more than their code. */
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
