/**
 * Riak's secondary-index entries, as Riak's clients write them beside an object. Nothing is indexed: an entry is a
 * metadata item whose name has a prefix, so that a client reads back what it wrote, in either protocol.
 */
import type { ByteString } from '../../base/ids.ts';
import type { Content } from './content.ts';

type Item = Content['meta'][number];

/** Prefix of such an item's name; also the prefix of the HTTP header. */
export const indexPrefix = 'x-riak-index-';

/** The metadata item for one value of an index. */
export function indexItem(index: ByteString, value: ByteString): Item {
  return [`${indexPrefix}${index}` as ByteString, value];
}

/** The index of which the metadata item is a value; undefined for the user's own metadata. */
export function indexOf([name]: Item): ByteString | undefined {
  return name.startsWith(indexPrefix) ? (name.slice(indexPrefix.length) as ByteString) : undefined;
}

/** The metadata without index entries. */
export function userItems(meta: Content['meta']): Content['meta'] {
  return meta.some((item) => indexOf(item) !== undefined)
    ? meta.filter((item) => indexOf(item) === undefined)
    : meta;
}
