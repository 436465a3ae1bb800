/**
 * Replies in RESP, as bytes. Version 2 and 3 differ in how they say "nothing", in maps and in marked texts; everything
 * else is the same in both (source: the Redis serialization protocol specification).
 */

export type RespVersion = 2 | 3;

export const okReply = Buffer.from('+OK\r\n');
export const queuedReply = Buffer.from('+QUEUED\r\n');
export const pongReply = Buffer.from('+PONG\r\n');
export const emptyArray = Buffer.from('*0\r\n');

const nil2 = Buffer.from('$-1\r\n');
const nil3 = Buffer.from('_\r\n');
const nilArray2 = Buffer.from('*-1\r\n');
const lineEnd = Buffer.from('\r\n');
/** Integers that are answered all the time. */
const smallIntegers: readonly Buffer[] = Array.from({ length: 129 }, (_, index) =>
  Buffer.from(`:${index - 1}\r\n`),
);

/** Errors are one line: what would end it is taken out. `text` begins with the error's word: `ERR syntax error`. */
export function errorReply(text: string): Buffer {
  return Buffer.from(`-${text.replaceAll(/[\r\n]+/g, ' ')}\r\n`);
}

export function simpleReply(text: string): Buffer {
  return Buffer.from(`+${text}\r\n`);
}

export function integerReply(value: number | bigint): Buffer {
  const known = typeof value === 'number' ? smallIntegers[value + 1] : undefined;
  return known ?? Buffer.from(`:${value}\r\n`);
}

export function nilReply(version: RespVersion): Buffer {
  return version === 2 ? nil2 : nil3;
}

/** Of what would have been an array. */
export function nilArrayReply(version: RespVersion): Buffer {
  return version === 2 ? nilArray2 : nil3;
}

export function bulkReply(value: Uint8Array): Buffer {
  const { length } = value;
  const digits = length < 10 ? 1 : length < 100 ? 2 : length < 1000 ? 3 : String(length).length;
  const reply = Buffer.allocUnsafe(length + digits + 5);
  reply[0] = 0x24;
  for (let at = digits, rest = length; at > 0; at--) {
    reply[at] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  reply[digits + 1] = 0x0d;
  reply[digits + 2] = 0x0a;
  reply.set(value, digits + 3);
  reply[length + digits + 3] = 0x0d;
  reply[length + digits + 4] = 0x0a;
  return reply;
}

export function textReply(text: string): Buffer {
  return bulkReply(Buffer.from(text));
}

export function arrayReply(items: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items]);
}

/** `entries`: names and values in turn. */
export function mapReply(version: RespVersion, entries: readonly Buffer[]): Buffer {
  const head = version === 2 ? `*${entries.length}\r\n` : `%${entries.length / 2}\r\n`;
  return Buffer.concat([Buffer.from(head), ...entries]);
}

/** A text for people. */
export function plainTextReply(version: RespVersion, text: string): Buffer {
  const bytes = Buffer.from(text);
  if (version === 2) return bulkReply(bytes);
  return Buffer.concat([Buffer.from(`=${bytes.length + 4}\r\ntxt:`), bytes, lineEnd]);
}
