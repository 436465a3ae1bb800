/**
 * Merges several replicas' pages of one span: the names known to any of them, up to the position that all have reached.
 * Of a key the newest knowledge wins; a key that is deleted by it is left out. Where two know the same newest write and
 * only one of them knows a value beside it, that value is a concurrent write, and the key exists. Pure.
 */
import type { ByteString, Token } from '../../base/ids.ts';
import { bucketPrefix } from '../../base/object-key.ts';
import { distance } from '../../cluster/ring/arc.ts';
import type { Known, ListedName, ListingAnswer, ListingCursor, ListingRequest } from './listing-messages.ts';

/** Merges answers (at least one) to one request. */
export function mergeAnswers(request: ListingRequest, answers: readonly ListingAnswer[]): ListingAnswer {
  const next = answers
    .flatMap((answer) => (answer.next === undefined ? [] : [answer.next]))
    .reduce<ListingCursor | undefined>((least, one) => {
      return least === undefined || isBefore(request.from, one, least) ? one : least;
    }, undefined);
  const { bucket } = request;
  // A bucket's name carries no position of its key; the coordinator lists each bucket once.
  if (bucket === undefined) return { names: answers.flatMap(({ names }) => names), next };
  const prefix = bucketPrefix(request.type, bucket, request.epoch);
  const newest = new Map<ByteString, ListedName>();
  for (const { names } of answers) {
    for (const name of names) {
      if (next !== undefined && isBeyond(request.from, name, prefix, next)) continue;
      const other = newest.get(name.name);
      if (other === undefined || isNewer(name.known, other.known)) newest.set(name.name, name);
    }
  }
  const names = [...newest.values()].filter(({ known }) => known?.deleted !== true);
  return { names: names.sort((left, right) => compare(request.from, left, right)), next };
}

function isNewer(one: Known | undefined, other: Known | undefined): boolean {
  const ahead = (one?.counter ?? 0) - (other?.counter ?? 0);
  return ahead > 0 || (ahead === 0 && one?.deleted === false && other?.deleted === true);
}

/** Whether the cursor `one` stops before `other`. */
function isBefore(from: Token, one: ListingCursor, other: ListingCursor): boolean {
  const [left, right] = [reached(from, one), reached(from, other)];
  return left < right || (left === right && (one.skip ?? '') < (other.skip ?? ''));
}

/** Whether the name lies behind the cursor. */
function isBeyond(from: Token, { token, name }: ListedName, prefix: string, cursor: ListingCursor): boolean {
  const at = distance(from, token);
  const end = reached(from, cursor);
  if (at <= end) return false;
  return at > end + 1 || cursor.skip === undefined || prefix + name > cursor.skip;
}

/** Tokens after `from` that the cursor has passed completely. */
function reached(from: Token, cursor: ListingCursor): number {
  return (cursor.from - from) >>> 0;
}

function compare(from: Token, left: ListedName, right: ListedName): number {
  return distance(from, left.token) - distance(from, right.token) || (left.name < right.name ? -1 : 1);
}
