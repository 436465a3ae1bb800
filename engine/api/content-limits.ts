/**
 * Limits of one written value and its metadata. `base/object-key.ts` limits the names of objects, and the listeners
 * limit whole requests before they check a content.
 */
import { LockstepError } from '../base/errors.ts';
import type { Content } from '../replica/object/content.ts';

/** The largest content that a client may write. Sizes are in bytes. */
export interface ContentLimits {
  readonly valueBytesMax: number;
  /** Names and values of all user metadata together. */
  readonly metaBytesMax: number;
  readonly metaCountMax: number;
  readonly linkCountMax: number;
  /** Bucket, key and tag of all links together. */
  readonly linkBytesMax: number;
  /** Content type, charset and content encoding, each. */
  readonly descriptionBytesMax: number;
}

/** The limits of a node whose configuration states none. */
export const defaultContentLimits: ContentLimits = {
  valueBytesMax: 16 * 1024 * 1024,
  metaBytesMax: 32 * 1024,
  metaCountMax: 256,
  linkCountMax: 1000,
  linkBytesMax: 128 * 1024,
  descriptionBytesMax: 255,
};

/** The most bytes that `encodeContent` yields for a content within the limits. A frame between nodes must hold them. */
export function contentBytesMax(limits: ContentLimits): number {
  const { valueBytesMax, metaBytesMax, metaCountMax, linkBytesMax, linkCountMax, descriptionBytesMax } =
    limits;
  // A length takes at most 8 bytes. A metadata entry has two of them, a link three.
  const lengths = 8 * (6 + 2 * metaCountMax + 3 * linkCountMax);
  return valueBytesMax + metaBytesMax + linkBytesMax + 3 * descriptionBytesMax + lengths;
}

/** Throws `TooLarge`, naming the part that is too large, its size and the limit. */
export function checkContent(content: Content, limits: ContentLimits): void {
  atMost('the value', content.value.length, limits.valueBytesMax, 'bytes');
  atMost('the content type', content.contentType.length, limits.descriptionBytesMax, 'bytes');
  atMost('the charset', content.charset.length, limits.descriptionBytesMax, 'bytes');
  atMost('the content encoding', content.contentEncoding.length, limits.descriptionBytesMax, 'bytes');
  atMost('the user metadata', content.meta.length, limits.metaCountMax, 'entries');
  atMost('the links', content.links.length, limits.linkCountMax, 'entries');
  if (content.meta.length > 0) atMost('the user metadata', metaBytes(content), limits.metaBytesMax, 'bytes');
  if (content.links.length > 0) atMost('the links', linkBytes(content), limits.linkBytesMax, 'bytes');
}

/** Whether `checkContent` would pass the content. */
export function isWithin(content: Content, limits: ContentLimits): boolean {
  try {
    checkContent(content, limits);
    return true;
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return false;
  }
}

function metaBytes(content: Content): number {
  return content.meta.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function linkBytes(content: Content): number {
  return content.links.reduce((sum, link) => sum + link.bucket.length + link.key.length + link.tag.length, 0);
}

function atMost(what: string, size: number, sizeMax: number, unit: 'bytes' | 'entries'): void {
  if (size <= sizeMax) return;
  const verb = what.endsWith('s') ? 'have' : 'has';
  throw new LockstepError('TooLarge', `${what} ${verb} ${size} ${unit}; at most ${sizeMax} are allowed`);
}
