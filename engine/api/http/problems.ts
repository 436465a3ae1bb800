/**
 * Builds JSON answers, and the errors of the product's own endpoints as problem details (RFC 9457) with the error's
 * code.
 */
import type { LockstepError } from '../../base/errors.ts';
import { errorTable } from '../../base/errors.ts';
import { definiteHeader, retryHeader } from './answers.ts';
import type { HttpResponse } from '../../io/http.ts';

/** An answer with `body` as one line of JSON. */
export function jsonAnswer(status: number, body: unknown): HttpResponse {
  return { status, headers: { 'Content-Type': 'application/json' }, body: `${JSON.stringify(body)}\n` };
}

/** The answer to a request that ended in `error`; `more` are additional members of the problem. */
export function problemAnswer(
  error: LockstepError,
  more: Readonly<Record<string, unknown>> = {},
): HttpResponse {
  const { code, definite, status, message } = error;
  const headers = {
    'Content-Type': 'application/problem+json',
    'X-Lockstep-Error': code,
    ...definiteHeader(error),
    ...retryHeader(status),
  };
  const problem = { type: 'about:blank', title: errorTable[code].sentence, status, code, detail: message };
  const body = `${JSON.stringify({ ...problem, ...more })}\n`;
  return { status, headers, body, failure: { code, definite } };
}
