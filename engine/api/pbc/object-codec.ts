/**
 * Encodes and decodes gets and puts of the binary protocol without reflection, in the forms that clients mostly send:
 * known fields, each at most once, no links, no metadata.
 *
 * Any other form is left to protobufjs (`undefined`), so a single decoder judges malformed and unusual messages. For
 * the forms accepted here both codecs agree to the byte, which `object-codec.test.ts` checks. Decoding a put or
 * answering a get takes a third of the time.
 */
import {
  contentSize,
  decodeContent,
  isPlain,
  noContent,
  none,
  number,
  run,
  writeContent,
} from './content-codec.ts';
import type { Open } from './content-codec.ts';
import type { RpbContent } from './object-messages.ts';
import { FrameWriter, bytesSize, flagSize, numberSize, runSize } from './frame-writer.ts';
import { MessageCursor } from './message-cursor.ts';
import type { RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';

/** Undefined if the message is not in the usual form. */
export function decodeGetReq(body: Buffer): RpbGetReq | undefined {
  const cursor = new MessageCursor(body);
  const message: Open<RpbGetReq> = {
    bucket: cursor.nothing,
    key: cursor.nothing,
    r: undefined,
    pr: undefined,
    basic_quorum: undefined,
    notfound_ok: undefined,
    if_modified: undefined,
    head: undefined,
    deletedvclock: undefined,
    timeout: undefined,
    sloppy_quorum: undefined,
    n_val: undefined,
    type: undefined,
    node_confirms: undefined,
  };
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === 8 + run) message.bucket = cursor.run();
    else if (tag === 16 + run) message.key = cursor.run();
    else if (tag === 24 + number) message.r = cursor.number();
    else if (tag === 32 + number) message.pr = cursor.number();
    else if (tag === 40 + number) message.basic_quorum = cursor.flag();
    else if (tag === 48 + number) message.notfound_ok = cursor.flag();
    else if (tag === 56 + run) message.if_modified = cursor.run();
    else if (tag === 64 + number) message.head = cursor.flag();
    else if (tag === 72 + number) message.deletedvclock = cursor.flag();
    else if (tag === 80 + number) message.timeout = cursor.number();
    else if (tag === 88 + number) message.sloppy_quorum = cursor.flag();
    else if (tag === 96 + number) message.n_val = cursor.number();
    else if (tag === 104 + run) message.type = cursor.run();
    else if (tag === 112 + number) message.node_confirms = cursor.number();
    else return undefined;
  }
  return cursor.met(1) && cursor.met(2) && cursor.sound ? message : undefined;
}

/** Undefined if the message is not in the usual form. */
export function decodePutReq(body: Buffer): RpbPutReq | undefined {
  const cursor = new MessageCursor(body);
  const message: Open<RpbPutReq> = {
    bucket: cursor.nothing,
    key: undefined,
    vclock: undefined,
    content: noContent,
    w: undefined,
    dw: undefined,
    return_body: undefined,
    pw: undefined,
    if_not_modified: undefined,
    if_none_match: undefined,
    return_head: undefined,
    timeout: undefined,
    asis: undefined,
    sloppy_quorum: undefined,
    n_val: undefined,
    type: undefined,
    node_confirms: undefined,
  };
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === 8 + run) message.bucket = cursor.run();
    else if (tag === 16 + run) message.key = cursor.run();
    else if (tag === 24 + run) message.vclock = cursor.run();
    else if (tag === 32 + run) message.content = decodeContent(cursor) ?? noContent;
    else if (tag === 40 + number) message.w = cursor.number();
    else if (tag === 48 + number) message.dw = cursor.number();
    else if (tag === 56 + number) message.return_body = cursor.flag();
    else if (tag === 64 + number) message.pw = cursor.number();
    else if (tag === 72 + number) message.if_not_modified = cursor.flag();
    else if (tag === 80 + number) message.if_none_match = cursor.flag();
    else if (tag === 88 + number) message.return_head = cursor.flag();
    else if (tag === 96 + number) message.timeout = cursor.number();
    else if (tag === 104 + number) message.asis = cursor.flag();
    else if (tag === 112 + number) message.sloppy_quorum = cursor.flag();
    else if (tag === 120 + number) message.n_val = cursor.number();
    else if (tag === 128 + run) message.type = cursor.run();
    else if (tag === 136 + number) message.node_confirms = cursor.number();
    else return undefined;
  }
  return message.content !== noContent && cursor.met(1) && cursor.sound ? message : undefined;
}

/** Undefined if the message is not in the usual form. */
export function decodeGetResp(body: Buffer): RpbGetResp | undefined {
  const cursor = new MessageCursor(body);
  const contents: RpbContent[] = [];
  const message: Open<RpbGetResp> = { content: contents, vclock: undefined, unchanged: undefined };
  for (let tag = cursor.tag(); tag !== 0; tag = cursor.tag()) {
    if (tag === 8 + run) {
      const content = decodeContent(cursor);
      if (content === undefined) return undefined;
      contents.push(content);
      cursor.again(1);
    } else if (tag === 16 + run) message.vclock = cursor.run();
    else if (tag === 24 + number) message.unchanged = cursor.flag();
    else return undefined;
  }
  return cursor.sound ? message : undefined;
}

/** The frame of a get request. */
export function encodeGetReq(message: RpbGetReq, code: number): Buffer {
  const size =
    bytesSize(1, message.bucket) +
    bytesSize(2, message.key) +
    numberSize(3, message.r) +
    numberSize(4, message.pr) +
    flagSize(5, message.basic_quorum) +
    flagSize(6, message.notfound_ok) +
    bytesSize(7, message.if_modified) +
    flagSize(8, message.head) +
    flagSize(9, message.deletedvclock) +
    numberSize(10, message.timeout) +
    flagSize(11, message.sloppy_quorum) +
    numberSize(12, message.n_val) +
    bytesSize(13, message.type) +
    numberSize(14, message.node_confirms);
  const writer = new FrameWriter(code, size);
  writer.bytes(1, message.bucket);
  writer.bytes(2, message.key);
  writer.number(3, message.r);
  writer.number(4, message.pr);
  writer.flag(5, message.basic_quorum);
  writer.flag(6, message.notfound_ok);
  writer.bytes(7, message.if_modified);
  writer.flag(8, message.head);
  writer.flag(9, message.deletedvclock);
  writer.number(10, message.timeout);
  writer.flag(11, message.sloppy_quorum);
  writer.number(12, message.n_val);
  writer.bytes(13, message.type);
  writer.number(14, message.node_confirms);
  return writer.frame;
}

/** The frame of a put request; undefined if the message is not in the usual form. */
export function encodePutReq(message: RpbPutReq, code: number): Buffer | undefined {
  const { content } = message;
  if (!isPlain(content)) return undefined;
  const contentBytes = contentSize(content);
  const size =
    runSize(4, contentBytes) +
    bytesSize(1, message.bucket) +
    bytesSize(2, message.key) +
    bytesSize(3, message.vclock) +
    numberSize(5, message.w) +
    numberSize(6, message.dw) +
    flagSize(7, message.return_body) +
    numberSize(8, message.pw) +
    flagSize(9, message.if_not_modified) +
    flagSize(10, message.if_none_match) +
    flagSize(11, message.return_head) +
    numberSize(12, message.timeout) +
    flagSize(13, message.asis) +
    flagSize(14, message.sloppy_quorum) +
    numberSize(15, message.n_val) +
    bytesSize(16, message.type) +
    numberSize(17, message.node_confirms);
  const writer = new FrameWriter(code, size);
  writer.bytes(1, message.bucket);
  writer.bytes(2, message.key);
  writer.bytes(3, message.vclock);
  writer.begin(4, contentBytes);
  writeContent(writer, content);
  writer.number(5, message.w);
  writer.number(6, message.dw);
  writer.flag(7, message.return_body);
  writer.number(8, message.pw);
  writer.flag(9, message.if_not_modified);
  writer.flag(10, message.if_none_match);
  writer.flag(11, message.return_head);
  writer.number(12, message.timeout);
  writer.flag(13, message.asis);
  writer.flag(14, message.sloppy_quorum);
  writer.number(15, message.n_val);
  writer.bytes(16, message.type);
  writer.number(17, message.node_confirms);
  return writer.frame;
}

/** The frame of a put's answer; undefined if the message is not in the usual form. */
export function encodePutResp(message: RpbPutResp, code: number): Buffer | undefined {
  if (message.content !== undefined && message.content.length > 0) return undefined;
  const writer = new FrameWriter(code, bytesSize(2, message.vclock) + bytesSize(3, message.key));
  writer.bytes(2, message.vclock);
  writer.bytes(3, message.key);
  return writer.frame;
}

/** The frame of a get's answer; undefined if the message is not in the usual form. */
export function encodeGetResp(message: RpbGetResp, code: number): Buffer | undefined {
  const { content = none } = message;
  let size = bytesSize(2, message.vclock) + flagSize(3, message.unchanged);
  for (const one of content) {
    if (!isPlain(one)) return undefined;
    size += runSize(1, contentSize(one));
  }
  const writer = new FrameWriter(code, size);
  for (const one of content) {
    writer.begin(1, contentSize(one));
    writeContent(writer, one);
  }
  writer.bytes(2, message.vclock);
  writer.flag(3, message.unchanged);
  return writer.frame;
}
