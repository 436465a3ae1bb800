/**
 * Conditional requests (RFC 9110 section 13), decided from the request's headers and what the key holds now.
 *
 * A GET that need not be repeated is `notModified`; any other request whose precondition fails is refused. Dates
 * count whole seconds, and tags are compared weakly: an object's tag is opaque, and equal tags mean equal versions.
 *
 * A date that this node's clock has not reached says nothing of what its sender has seen, for no version is shown with
 * one (`shownDateMs`): a read is answered in full, and what must not happen to a newer version does not happen.
 */
import type { HttpRequest } from '../../io/http.ts';
import { clockSkewMsMax } from '../../object/dates.ts';
import { parseHttpDate } from './http-date.ts';

/** What the key holds, as conditions see it. */
export interface Current {
  /** The ETag without its quotes. */
  readonly tag: string;
  readonly lastModifiedMs: number;
}

export type Verdict =
  | { readonly kind: 'proceed' }
  | { readonly kind: 'notModified' }
  | { readonly kind: 'failed'; readonly detail: string };

const proceed: Verdict = { kind: 'proceed' };

/** The request has a precondition that needs a read before a write. */
export function hasWriteConditions(request: HttpRequest): boolean {
  const { headers } = request;
  return (
    headers['if-match'] !== undefined ||
    headers['if-unmodified-since'] !== undefined ||
    (headers['if-none-match'] !== undefined && !forbidsAny(request))
  );
}

/** `If-None-Match: *`: only where nothing is yet. */
export function forbidsAny(request: HttpRequest): boolean {
  return request.headers['if-none-match']?.trim() === '*';
}

/** The writer named the version that it has seen. */
export function namesVersion(request: HttpRequest): boolean {
  const header = request.headers['if-match'];
  return header !== undefined && header.trim() !== '*';
}

/**
 * The date to show, in milliseconds: one of the future, as a wrong clock makes it, is shown as the moment of the answer
 * (section 8.8.2.1).
 */
export function shownDateMs(lastModifiedMs: number, nowMs: number): number {
  return Math.min(lastModifiedMs, nowMs);
}

/** In the order of section 13.2.2, at that instant; `current` is undefined when the key holds nothing. */
export function judge(request: HttpRequest, current: Current | undefined, nowMs: number): Verdict {
  const match = request.headers['if-match'];
  const noneMatch = request.headers['if-none-match'];
  if (match !== undefined) {
    if (!matches(match, current))
      return { kind: 'failed', detail: 'If-Match names no version that is stored now' };
  } else {
    const age = compareDates(request.headers['if-unmodified-since'], current, nowMs);
    if (age === 'newer')
      return { kind: 'failed', detail: 'the object was modified after If-Unmodified-Since' };
    if (age === 'unknown')
      return { kind: 'failed', detail: 'If-Unmodified-Since is a date of the future, and names no version' };
  }
  if (noneMatch !== undefined) {
    if (!matches(noneMatch, current)) return proceed;
    return isRead(request)
      ? { kind: 'notModified' }
      : { kind: 'failed', detail: 'If-None-Match names a version that is stored now' };
  }
  const age = isRead(request)
    ? compareDates(request.headers['if-modified-since'], current, nowMs)
    : undefined;
  return age === 'notNewer' ? { kind: 'notModified' } : proceed;
}

function isRead(request: HttpRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD';
}

function matches(header: string, current: Current | undefined): boolean {
  if (current === undefined) return false;
  if (header.trim() === '*') return true;
  for (const [, tag] of header.matchAll(/(?:W\/)?"([^"]*)"/g)) if (tag === current.tag) return true;
  // Some clients of Riak send a tag without its quotes.
  return header.trim() === current.tag;
}

/**
 * How the object's date stands to the header's. Undefined when there is nothing to compare: no object, no header, or a
 * date that is none. Unknown: the header's is one of the future.
 */
function compareDates(
  header: string | undefined,
  current: Current | undefined,
  nowMs: number,
): 'newer' | 'notNewer' | 'unknown' | undefined {
  const seconds = header === undefined ? undefined : parseHttpDate(header.trim());
  if (seconds === undefined || current === undefined) return undefined;
  if (Math.floor(current.lastModifiedMs / 1000) > seconds) return 'newer';
  return seconds * 1000 > nowMs + clockSkewMsMax ? 'unknown' : 'notNewer';
}
