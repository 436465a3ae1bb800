/**
 * Several replicas' pages of one span as one: the names that any of them knows, as far as all of them have come. Of a key
 * the newest knowledge stands, and one that is deleted by it is left out. Pure.
 */
import type { ByteString, Token } from '../../base/ids.ts';
import { bucketPrefix } from '../../base/object-key.ts';
import { distance } from '../../cluster/ring/arc.ts';
import type { ListedName, ListingAnswer, ListingCursor, ListingRequest } from './listing-messages.ts';

/** `answers` are to one request, at least one of them. */
export function mergeAnswers(request: ListingRequest, answers: readonly ListingAnswer[]): ListingAnswer {
  const next = answers
    .flatMap((answer) => (answer.next === undefined ? [] : [answer.next]))
    .reduce<ListingCursor | undefined>((least, one) => {
      return least === undefined || isBefore(request.from, one, least) ? one : least;
    }, undefined);
  const { bucket } = request;
  // A bucket's name says nothing of where its key stands; whoever lists buckets takes each once.
  if (bucket === undefined) return { names: answers.flatMap(({ names }) => names), next };
  const prefix = bucketPrefix(request.type, bucket);
  const newest = new Map<ByteString, ListedName>();
  for (const { names } of answers) {
    for (const name of names) {
      if (next !== undefined && isBeyond(request.from, name, prefix, next)) continue;
      const other = newest.get(name.name);
      if (other === undefined || (name.known?.counter ?? 0) > (other.known?.counter ?? 0))
        newest.set(name.name, name);
    }
  }
  const names = [...newest.values()].filter(({ known }) => known?.deleted !== true);
  return { names: names.sort((left, right) => compare(request.from, left, right)), next };
}

/** The cursor stops earlier than the other one. */
function isBefore(from: Token, one: ListingCursor, other: ListingCursor): boolean {
  const [left, right] = [reached(from, one), reached(from, other)];
  return left < right || (left === right && (one.skip ?? '') < (other.skip ?? ''));
}

/** The name stands behind the cursor. */
function isBeyond(from: Token, { token, name }: ListedName, prefix: string, cursor: ListingCursor): boolean {
  const at = distance(from, token);
  const end = reached(from, cursor);
  if (at <= end) return false;
  return at > end + 1 || cursor.skip === undefined || prefix + name > cursor.skip;
}

/** Tokens after `from` that the cursor has left behind whole. */
function reached(from: Token, cursor: ListingCursor): number {
  return (cursor.from - from) >>> 0;
}

function compare(from: Token, left: ListedName, right: ListedName): number {
  return distance(from, left.token) - distance(from, right.token) || (left.name < right.name ? -1 : 1);
}
