/**
 * Converts objects to and from Redis's view: one value and its expiry (`replica/object/expiry.ts`). An entry is absent
 * from that instant on, by the clock of the node that the client asked. The reaper deletes it later.
 */
import type { Content } from '../../replica/object/content.ts';
import { plainContent } from '../../replica/object/content.ts';
import { expiryOf, metaWithExpiry, newestValue } from '../../replica/object/expiry.ts';
import type { StoredObject } from '../../replica/object/object.ts';

/** The value of a key. */
export interface Entry {
  readonly value: Uint8Array;
  /** Milliseconds since the epoch; 0: never. */
  readonly expiresAtMs: number;
  /** The content whose metadata the value keeps; undefined for a value that a Redis command wrote anew. */
  readonly like: Content | undefined;
}

const fresh = plainContent(new Uint8Array(0), 'application/octet-stream');

/** The entry of an object at an instant; undefined if there is no value, or it has expired. */
export function entryOf(object: StoredObject | undefined, nowMs: number): Entry | undefined {
  const sibling = object === undefined ? undefined : newestValue(object);
  if (sibling === undefined) return undefined;
  const expiresAtMs = expiryOf(sibling);
  if (expiresAtMs !== 0 && expiresAtMs <= nowMs) return undefined;
  return { value: sibling.value, expiresAtMs, like: sibling };
}

/** The content to store for an entry. */
export function contentOf({ value, expiresAtMs, like }: Entry): Content {
  const base = like ?? fresh;
  return {
    value,
    contentType: base.contentType,
    charset: base.charset,
    contentEncoding: base.contentEncoding,
    meta: metaWithExpiry(base, expiresAtMs),
    links: base.links,
    tombstone: false,
  };
}
