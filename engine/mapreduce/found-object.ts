/** An object as a map phase sees it, and its JSON forms. Values are text if they are UTF-8. */
import { isUtf8 } from 'node:buffer';
import type { ByteString } from '../base/ids.ts';
import { bufferOf, textOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import type { Link } from '../replica/object/content.ts';
import type { VersionVector } from '../replica/object/dots.ts';
import { indexOf, userItems } from '../replica/object/index-entries.ts';
import { encodeContext } from '../replica/object/object.ts';
import type { Sibling } from '../replica/object/object.ts';
import type { Input, Json } from './job.ts';

/** An input, and one replica's copy of it. */
export interface FoundObject {
  /** The siblings that are values, in the order of their dots; empty if the object is absent or deleted. */
  readonly input: Input;
  /** Those that are values, in the order of their dots; none: not found, or deleted. */
  readonly siblings: readonly Sibling[];
  readonly context: VersionVector;
}

/** The result of map functions for an input that does not exist. */
export function notFoundJson({ type, bucket, key, keydata }: Input): Json {
  const name = { bucket: textOf(bucket), key: textOf(key), keydata: keydata ?? null };
  return { not_found: type === defaultType ? name : { bucket_type: textOf(type), ...name } };
}

/** Whether a value is a `notFoundJson`. */
export function isNotFound(value: Json): boolean {
  return typeof value === 'object' && value !== null && 'not_found' in value;
}

/** The object in the form of Riak's JavaScript map functions, which `map_identity` returns. */
export function riakJson({ input, siblings, context }: FoundObject): Json {
  const { type, bucket, key } = input;
  return {
    ...(type === defaultType ? {} : { bucket_type: textOf(type) }),
    bucket: textOf(bucket),
    key: textOf(key),
    vclock: encodeContext(context).toString('base64'),
    values: siblings.map((sibling) => ({ metadata: metadataOf(sibling), data: valueText(sibling) })),
  };
}

/**
 * The object in the form of a Wasm map phase: its name, `data` (the key data, or null), the first sibling's fields, and
 * `siblings` for further ones. A value that is not UTF-8 is a byte string of CBOR.
 */
export function wasmItem({ input, siblings }: FoundObject): unknown {
  const { type, bucket, key, keydata } = input;
  const [first, ...others] = siblings.map(contentItem);
  return {
    type: textOf(type),
    bucket: textOf(bucket),
    key: textOf(key),
    data: keydata ?? null,
    ...first,
    ...(others.length === 0 ? {} : { siblings: others }),
  };
}

/** The value as text; bytes that are not UTF-8 become U+FFFD, because JSON cannot hold them. */
export function valueText({ value }: Sibling): string {
  return bufferOf(value).toString('utf8');
}

/** A link as `[bucket, key, tag]`. */
export function linkJson({ bucket, key, tag }: Link): readonly string[] {
  return [textOf(bucket), textOf(key), textOf(tag)];
}

function contentItem(sibling: Sibling): object {
  const { value, contentType, meta, links } = sibling;
  return {
    value: isUtf8(value) ? valueText(sibling) : value,
    content_type: textOf(contentType),
    meta: pairs(meta),
    links: links.map(linkJson),
  };
}

function metadataOf(sibling: Sibling): Json {
  const { contentType, charset, contentEncoding, meta, links, lastModifiedMs } = sibling;
  const own = userItems(meta);
  return {
    'content-type': textOf(contentType),
    ...given('charset', charset),
    ...given('content-encoding', contentEncoding),
    'X-Riak-Last-Modified-Ms': lastModifiedMs,
    ...(own.length === 0 ? {} : { 'X-Riak-Meta': pairs(own) }),
    ...(own.length === meta.length ? {} : { index: indexesOf(meta) }),
    ...(links.length === 0 ? {} : { Links: links.map(linkJson) }),
  };
}

function given(name: string, value: ByteString): Readonly<Record<string, string>> {
  return value === '' ? {} : { [name]: textOf(value) };
}

function pairs(meta: Sibling['meta']): Readonly<Record<string, string>> {
  return Object.fromEntries(meta.map(([name, value]) => [textOf(name), textOf(value)]));
}

/** Index entries in Riak's form: the value of each index, or the list of its values. */
function indexesOf(meta: Sibling['meta']): Readonly<Record<string, string | readonly string[]>> {
  const values = new Map<string, readonly string[]>();
  for (const item of meta) {
    const index = indexOf(item);
    if (index === undefined) continue;
    const name = textOf(index);
    values.set(name, [...(values.get(name) ?? []), textOf(item[1])]);
  }
  return Object.fromEntries(
    [...values].map(([name, all]) => [name, all.length === 1 ? (all[0] ?? '') : all]),
  );
}
