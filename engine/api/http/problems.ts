/** Errors of the product's own endpoints: problem details (RFC 9457) with the error table's code. */
import type { LockstepError } from '../../base/errors.ts';
import { errorTable } from '../../base/errors.ts';
import { definiteHeader } from './answers.ts';
import type { HttpResponse } from '../../io/http.ts';

/** An answer in JSON. */
export function jsonAnswer(status: number, body: unknown): HttpResponse {
  return { status, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(body)}\n` };
}

/** The answer to a request that ended in an error; `more` are members of its own kind. */
export function problemAnswer(
  error: LockstepError,
  more: Readonly<Record<string, unknown>> = {},
): HttpResponse {
  const { code, definite, status, message } = error;
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    'X-Lockstep-Error': code,
    ...definiteHeader(error),
  };
  // What refuses now may serve a second later.
  if (status === 503) headers['Retry-After'] = '1';
  const problem = { type: 'about:blank', title: errorTable[code].sentence, status, code, detail: message };
  const body = `${JSON.stringify({ ...problem, ...more })}\n`;
  return { status, headers, body, failure: { code, definite } };
}
