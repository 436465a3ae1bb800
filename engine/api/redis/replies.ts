/**
 * Encodes replies in RESP. Versions 2 and 3 differ in nil, maps and verbatim texts; everything else is the same.
 *
 * Source: the Redis serialization protocol specification.
 */

/** The protocol version that the client chose with HELLO. */
export type RespVersion = 2 | 3;

/** The reply of success. */
export const okReply = Buffer.from('+OK\r\n');
/** The reply to a command within MULTI. */
export const queuedReply = Buffer.from('+QUEUED\r\n');
/** The reply to PING. */
export const pongReply = Buffer.from('+PONG\r\n');
/** An array without elements. */
export const emptyArray = Buffer.from('*0\r\n');

const nil2 = Buffer.from('$-1\r\n');
const nil3 = Buffer.from('_\r\n');
const nilArray2 = Buffer.from('*-1\r\n');
const lineEnd = Buffer.from('\r\n');
/** Integers from -1 to 127, which are answered most often. */
const smallIntegers: readonly Buffer[] = Array.from({ length: 129 }, (_, index) =>
  Buffer.from(`:${index - 1}\r\n`),
);

/** An error line. Line breaks in it become blanks. `text` begins with the error's word: `ERR syntax error`. */
export function errorReply(text: string): Buffer {
  return Buffer.from(`-${text.replaceAll(/[\r\n]+/g, ' ')}\r\n`);
}

/** A simple string; `text` has no line break. */
export function simpleReply(text: string): Buffer {
  return Buffer.from(`+${text}\r\n`);
}

/** An integer. */
export function integerReply(value: number | bigint): Buffer {
  const known = typeof value === 'number' ? smallIntegers[value + 1] : undefined;
  return known ?? Buffer.from(`:${value}\r\n`);
}

/** The absence of a value. */
export function nilReply(version: RespVersion): Buffer {
  return version === 2 ? nil2 : nil3;
}

/** The absence of an array. */
export function nilArrayReply(version: RespVersion): Buffer {
  return version === 2 ? nilArray2 : nil3;
}

/** A bulk string of bytes. */
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

/** Bytes of the value of an encoded bulk string; undefined for any other reply, and for the absence of a value. */
export function bulkBytesOf(reply: Buffer): number | undefined {
  if (reply[0] !== 0x24 || reply[1] === 0x2d) return undefined;
  return Number.parseInt(reply.toString('latin1', 1, 11), 10);
}

/** A bulk string of a UTF-8 text. */
export function textReply(text: string): Buffer {
  return bulkReply(Buffer.from(text));
}

/** An array of encoded replies. */
export function arrayReply(items: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items]);
}

/** A map. `entries`: encoded names and values alternately. */
export function mapReply(version: RespVersion, entries: readonly Buffer[]): Buffer {
  const head = version === 2 ? `*${entries.length}\r\n` : `%${entries.length / 2}\r\n`;
  return Buffer.concat([Buffer.from(head), ...entries]);
}

/** A text for people: verbatim in version 3. */
export function plainTextReply(version: RespVersion, text: string): Buffer {
  const bytes = Buffer.from(text);
  if (version === 2) return bulkReply(bytes);
  return Buffer.concat([Buffer.from(`=${bytes.length + 4}\r\ntxt:`), bytes, lineEnd]);
}
