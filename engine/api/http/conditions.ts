/**
 * Decides conditional requests (RFC 9110 section 13) from the request's headers and the object that the key holds now.
 *
 * A GET whose answer the client already has is `notModified`. Any other request whose precondition fails is refused.
 * Dates count whole seconds. `If-Match` compares tags strongly, `If-None-Match` weakly (section 8.8.3.2). A header in
 * several lines is one list: `*` counts wherever it stands in it.
 *
 * A date that this node's clock has not reached says nothing about what the client has seen, since no version is shown
 * with such a date (`shownDateMs`). Such a read is answered in full, and a write with such an `If-Unmodified-Since` is
 * refused.
 */
import type { HttpRequest } from '../../io/http.ts';
import { clockSkewMsMax } from '../../replica/object/dates.ts';
import { parseHttpDate } from './http-date.ts';

/** The object as conditions see it. */
export interface Current {
  /** The ETag of the representation that a read would return, without its quotes. */
  readonly tag: string;
  /** The ETags of all representations: a writer may have seen any of them. */
  readonly tags: readonly string[];
  /**
   * Of several siblings, the ETag of each value, as its part shows it. A write on condition that the key does not hold one
   * of them fails. It is no version of the whole: who has seen one sibling may not replace the others.
   */
  readonly valueTags?: readonly string[];
  readonly lastModifiedMs: number;
}

/** The result of the conditions: go on, answer 304, or answer 412 with `detail`. */
export type Verdict =
  | { readonly kind: 'proceed' }
  | { readonly kind: 'notModified' }
  | { readonly kind: 'failed'; readonly detail: string };

const proceed: Verdict = { kind: 'proceed' };

/** Whether a write has a precondition that needs a read first. */
export function hasWriteConditions(request: HttpRequest): boolean {
  const { headers } = request;
  return (
    headers['if-match'] !== undefined ||
    headers['if-unmodified-since'] !== undefined ||
    (headers['if-none-match'] !== undefined && !forbidsAny(request))
  );
}

/** Whether the request has `If-None-Match: *`, so that it applies only if the key holds nothing. */
export function forbidsAny(request: HttpRequest): boolean {
  const header = request.headers['if-none-match'];
  return header !== undefined && tagsOf(header).any;
}

/** Whether the writer names the version that it has seen (`If-Match` with a tag). */
export function namesVersion(request: HttpRequest): boolean {
  const header = request.headers['if-match'];
  return header !== undefined && !tagsOf(header).any;
}

/**
 * The date to show, in milliseconds since the epoch. A future date, which a wrong clock makes, is shown as the time of
 * the answer (section 8.8.2.1).
 */
export function shownDateMs(lastModifiedMs: number, nowMs: number): number {
  return Math.min(lastModifiedMs, nowMs);
}

/**
 * Evaluates the conditions in the order of section 13.2.2, at wall-clock time `nowMs`. `current` is undefined if the
 * key holds nothing.
 */
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
      return { kind: 'failed', detail: 'If-None-Match is not a list of entity tags' };
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
  const all = comparison === 'weak' ? [...current.tags, ...(current.valueTags ?? [])] : current.tags;
  const own = isRead(request) ? [current.tag] : all;
  return own.some((tag) => strong.includes(tag) || (comparison === 'weak' && weak.includes(tag)));
}

/** The entity tags of a header, as far as it parses. */
interface TagList {
  /** The list holds `*`. */
  readonly any: boolean;
  readonly strong: readonly string[];
  readonly weak: readonly string[];
  readonly malformed: boolean;
}

/** Separators before a member, and the member. Some of Riak's clients send a tag without its quotes. */
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
 * Compares the object's date with the header's. Undefined if there is no object, no header, or no valid date.
 * `unknown`: the header's date is in the future.
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
