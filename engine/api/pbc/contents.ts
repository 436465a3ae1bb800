/**
 * Converts objects to and from the binary protocol's contents.
 *
 * The server sets `vtag`, `last_mod` and `last_mod_usecs`. Clients send back what they read, and the server ignores
 * these fields. Entries of secondary indexes are stored and returned, but not indexed.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringFrom, bytesOf } from '../../base/ids.ts';
import type { Content, Link } from '../../replica/object/content.ts';
import { indexItem, indexOf, userItems } from '../../replica/object/index-entries.ts';
import type { Sibling, StoredObject } from '../../replica/object/object.ts';
import { vtagOf } from '../tags.ts';
import type { RpbContent, RpbLink, RpbPair } from './object-messages.ts';

const noValue = new Uint8Array(0);
const empty = '' as ByteString;

/** The content that a put stores; its value is a view of the message. Throws `BadRequest`. */
export function contentOf(message: RpbContent): Content {
  if (message.deleted === true) {
    throw new LockstepError('BadRequest', 'a put stores a value; RpbDelReq deletes');
  }
  return {
    value: message.value,
    contentType: stringOf(message.content_type),
    charset: stringOf(message.charset),
    contentEncoding: stringOf(message.content_encoding),
    meta: metaOf(message),
    links: message.links?.map(linkOf) ?? [],
    tombstone: false,
  };
}

/** All siblings of an object; without their values if `headOnly`. */
export function contentsOf(object: StoredObject, headOnly: boolean): readonly RpbContent[] {
  return object.siblings.map((sibling) => rpbContentOf(sibling, headOnly));
}

/** A byte string, copied out of the frame; empty if the field is absent. */
export function stringOf(bytes: Uint8Array | undefined): ByteString {
  return bytes === undefined || bytes.length === 0 ? empty : byteStringFrom(bytes);
}

function rpbContentOf(sibling: Sibling, headOnly: boolean): RpbContent {
  const { lastModifiedMs, meta } = sibling;
  const own = userItems(meta);
  return {
    value: headOnly ? noValue : sibling.value,
    content_type: maybeBytes(sibling.contentType),
    charset: maybeBytes(sibling.charset),
    content_encoding: maybeBytes(sibling.contentEncoding),
    vtag: Buffer.from(vtagOf(sibling.dot), 'latin1'),
    links: sibling.links.map(rpbLinkOf),
    last_mod: Math.floor(lastModifiedMs / 1000),
    last_mod_usecs: (lastModifiedMs % 1000) * 1000,
    usermeta: own.map(rpbPairOf),
    ...(own.length === meta.length ? {} : { indexes: rpbIndexesOf(meta) }),
    deleted: sibling.tombstone ? true : undefined,
  };
}

function metaOf({ usermeta = [], indexes = [] }: RpbContent): Content['meta'] {
  const own = usermeta.map(itemOf);
  if (indexes.length === 0) return own;
  return [...own, ...indexes.map(({ key, value }) => indexItem(stringOf(key), stringOf(value)))];
}

function itemOf(pair: RpbPair): readonly [ByteString, ByteString] {
  return [stringOf(pair.key), stringOf(pair.value)];
}

function rpbPairOf([name, value]: Content['meta'][number]): RpbPair {
  return { key: bytesOf(name), value: bytesOf(value) };
}

function rpbIndexesOf(meta: Content['meta']): readonly RpbPair[] {
  return meta.flatMap((item) => {
    const index = indexOf(item);
    return index === undefined ? [] : [{ key: bytesOf(index), value: bytesOf(item[1]) }];
  });
}

function linkOf(link: RpbLink): Link {
  return { bucket: stringOf(link.bucket), key: stringOf(link.key), tag: stringOf(link.tag) };
}

function rpbLinkOf(link: Link): RpbLink {
  return { bucket: bytesOf(link.bucket), key: bytesOf(link.key), tag: bytesOf(link.tag) };
}

function maybeBytes(value: ByteString): Uint8Array | undefined {
  return value === '' ? undefined : bytesOf(value);
}
