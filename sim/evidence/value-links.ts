/**
 * Links that clients put beside their traced values, so that a link phase of a job shows which values it has seen: every
 * second value of a client has one, to its own key, and the link's tag names the value. The others have none, since the
 * engine encodes such values by another path. Pure.
 */

/** The key of a value, as requests name it. */
interface KeyPlace {
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
}

/** What is between the marks of a value's tag. A disk is searched for whole tags, and must not find one in a link. */
const numbered = /^«w:(.+:(\d+))»$/;

/** The tag of the value's link; undefined if the value has none. */
export function linkTagOf(valueTag: string): string | undefined {
  const [, name, count] = numbered.exec(valueTag) ?? [];
  return Number(count) % 2 === 1 ? name : undefined;
}

/** The tag of the value that the link is beside. */
export function valueTagOf(linkTag: string): string {
  return `«w:${linkTag}»`;
}

/** The links of a value, as a put over the binary protocol states them. */
export function linksOf(
  { bucket, key }: KeyPlace,
  valueTag: string,
): readonly { readonly bucket: Uint8Array; readonly key: Uint8Array; readonly tag: Uint8Array }[] {
  const tag = linkTagOf(valueTag);
  return tag === undefined ? [] : [{ bucket, key, tag: Buffer.from(tag) }];
}

/** The header of a put over HTTP that states the same links. */
export function linkHeader({ bucket, key }: KeyPlace, valueTag: string): Readonly<Record<string, string>> {
  const tag = linkTagOf(valueTag);
  if (tag === undefined) return {};
  const [ofBucket, ofKey] = [bucket, key].map((bytes) => encodeURIComponent(Buffer.from(bytes).toString()));
  return { Link: `</buckets/${ofBucket}/keys/${ofKey}>; riaktag="${tag}"` };
}
