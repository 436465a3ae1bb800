/**
 * Conditional requests (RFC 9110 section 13), decided from the request's headers and what the key holds now.
 *
 * A GET that need not be repeated is `notModified`; any other request whose precondition fails is refused. Dates
 * count whole seconds. `If-Match` compares tags strongly, `If-None-Match` weakly (section 8.8.3.2). A header that was
 * given in several lines is one list: `*` counts wherever it stands in it.
 *
 * A date that this node's clock has not reached says nothing of what its sender has seen, for no version is shown with
 * one (`shownDateMs`): a read is answered in full, and what must not happen to a newer version does not happen.
 */
import type { HttpRequest } from '../../io/http.ts';
import { clockSkewMsMax } from '../../replica/object/dates.ts';
import { parseHttpDate } from './http-date.ts';

/** What the key holds, as conditions see it. */
export interface Current {
  /** The ETag of the representation that a read would be answered with, without its quotes. */
  readonly tag: string;
  /** The ETags of all its representations: a writer may have seen any of them. */
  readonly tags: readonly string[];
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
  const header = request.headers['if-none-match'];
  return header !== undefined && tagsOf(header).any;
}

/** The writer named the version that it has seen. */
export function namesVersion(request: HttpRequest): boolean {
  const header = request.headers['if-match'];
  return header !== undefined && !tagsOf(header).any;
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
    if (!matches(match, request, current, 'strong'))
      return { kind: 'failed', detail: 'If-Match names no version that is stored now' };
  } else {
    const age = compareDates(request.headers['if-unmodified-since'], current, nowMs);
    if (age === 'newer')
      return { kind: 'failed', detail: 'the object was modified after If-Unmodified-Since' };
    if (age === 'unknown')
      return { kind: 'failed', detail: 'If-Unmodified-Since is a date of the future, and names no version' };
  }
  if (noneMatch !== undefined) {
    if (!isRead(request) && tagsOf(noneMatch).malformed)
      return { kind: 'failed', detail: 'If-None-Match is no list of entity tags' };
    if (!matches(noneMatch, request, current, 'weak')) return proceed;
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

function matches(
  header: string,
  request: HttpRequest,
  current: Current | undefined,
  comparison: 'strong' | 'weak',
): boolean {
  if (current === undefined) return false;
  const { any, strong, weak } = tagsOf(header);
  if (any) return true;
  const own = isRead(request) ? [current.tag] : current.tags;
  return own.some((tag) => strong.includes(tag) || (comparison === 'weak' && weak.includes(tag)));
}

/** A list of entity tags, as far as it is one. */
interface TagList {
  /** It holds `*`. */
  readonly any: boolean;
  readonly strong: readonly string[];
  readonly weak: readonly string[];
  readonly malformed: boolean;
}

/** What separates members, and one of them; some clients of Riak send a tag without its quotes. */
const member = /[ \t,]*(?:(W\/)?"([^"]*)"|([^",\s]+))/y;
const separators = /^[ \t,]*$/;

function tagsOf(header: string): TagList {
  const strong: string[] = [];
  const weak: string[] = [];
  let any = false;
  let end = 0;
  for (;;) {
    member.lastIndex = end;
    const found = member.exec(header);
    if (found === null) break;
    end = member.lastIndex;
    const [, mark, tag, bare] = found;
    if (bare === '*') any = true;
    else if (bare !== undefined) strong.push(bare);
    else if (tag !== undefined) (mark === undefined ? strong : weak).push(tag);
  }
  const malformed = end === 0 || !separators.test(header.slice(end));
  return { any, strong, weak, malformed };
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
