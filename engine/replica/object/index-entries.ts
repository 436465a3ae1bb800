/**
 * Entries of Riak's secondary indexes, as Riak's clients write them beside an object. Nothing is indexed: an entry is an
 * item of the object's metadata whose name has a prefix, so that a client reads back what it wrote, in either protocol.
 */
import type { ByteString } from '../../base/ids.ts';
import type { Content } from './content.ts';

type Item = Content['meta'][number];

/** What such an item's name begins with; it is the name of the HTTP header, too. */
export const indexPrefix = 'x-riak-index-';

/** The item that stands for one value of an index. */
export function indexItem(index: ByteString, value: ByteString): Item {
  return [`${indexPrefix}${index}` as ByteString, value];
}

/** The index that an item of metadata is a value of; undefined: it is the user's own. */
export function indexOf([name]: Item): ByteString | undefined {
  return name.startsWith(indexPrefix) ? (name.slice(indexPrefix.length) as ByteString) : undefined;
}

/** The items that are the user's own. */
export function userItems(meta: Content['meta']): Content['meta'] {
  return meta.some((item) => indexOf(item) !== undefined)
    ? meta.filter((item) => indexOf(item) === undefined)
    : meta;
}
