/**
 * Encodes and decodes the contents of objects for the hand-written codecs (`object-codec.ts`, `transaction-codec.ts`).
 * It covers the form that clients mostly send: known fields, each at most once, no links, no metadata.
 */
import type { RpbContent } from './object-messages.ts';
import type { FrameWriter } from './frame-writer.ts';
import { bytesSize, flagSize, numberSize } from './frame-writer.ts';
import type { MessageCursor } from './message-cursor.ts';

/** A message whose fields are writable while a decoder fills it. */
export type Open<T> = { -readonly [Field in keyof T]: T[Field] };

/** How protobufjs shows a repeated field without elements. */
export const none: readonly never[] = Object.freeze([]);

/** Placeholder until the decoder finds a content. */
export const noContent: RpbContent = { value: Buffer.alloc(0) };

/** The wire type of numbers and flags. */
export const number = 0;
/** The wire type of bytes. */
export const run = 2;

/** Decodes the content at the cursor; undefined if it is not in the usual form. */
export function decodeContent(outer: MessageCursor): RpbContent | undefined {
  const cursor = outer.inner();
  const content: Open<RpbContent> = {
    value: cursor.nothing,
    content_type: undefined,
    charset: undefined,
    content_encoding: undefined,
    vtag: undefined,
    links: none,
    last_mod: undefined,
    last_mod_usecs: undefined,
    usermeta: none,
    indexes: none,
    deleted: undefined,
  };
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === 8 + run) content.value = cursor.run();
    else if (tag === 16 + run) content.content_type = cursor.run();
    else if (tag === 24 + run) content.charset = cursor.run();
    else if (tag === 32 + run) content.content_encoding = cursor.run();
    else if (tag === 40 + run) content.vtag = cursor.run();
    else if (tag === 56 + number) content.last_mod = cursor.number();
    else if (tag === 64 + number) content.last_mod_usecs = cursor.number();
    else if (tag === 88 + number) content.deleted = cursor.flag();
    else return undefined;
  }
  return cursor.met(1) && cursor.sound ? content : undefined;
}

/** Whether the hand-written codec can encode the content. */
export function isPlain({ links, usermeta, indexes }: RpbContent): boolean {
  return isNone(links) && isNone(usermeta) && isNone(indexes);
}

function isNone(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}

/** Bytes of the content's fields. */
export function contentSize(content: RpbContent): number {
  return (
    bytesSize(1, content.value) +
    bytesSize(2, content.content_type) +
    bytesSize(3, content.charset) +
    bytesSize(4, content.content_encoding) +
    bytesSize(5, content.vtag) +
    numberSize(7, content.last_mod) +
    numberSize(8, content.last_mod_usecs) +
    flagSize(11, content.deleted)
  );
}

/** Writes the content's fields, without tag and length of the content itself. */
export function writeContent(writer: FrameWriter, content: RpbContent): void {
  writer.bytes(1, content.value);
  writer.bytes(2, content.content_type);
  writer.bytes(3, content.charset);
  writer.bytes(4, content.content_encoding);
  writer.bytes(5, content.vtag);
  writer.number(7, content.last_mod);
  writer.number(8, content.last_mod_usecs);
  writer.flag(11, content.deleted);
}
