/**
 * Branded identifiers and byte strings. Brands keep a node's name from being passed where a rack's is meant.
 *
 * Buckets, keys and types are arbitrary bytes in Riak's protocols. The engine holds them as *byte strings*: JavaScript
 * strings in which every character is one byte (0..255). V8 stores these with one byte per character, they work as Map
 * keys, and they convert to and from Buffers at memory speed (`latin1`). Text becomes a byte string by way of UTF-8.
 */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A string whose every character is one byte (code 0..255). */
export type ByteString = Brand<string, 'ByteString'>;
/** A node's name, unique in its cluster: 1 to 64 characters of `[A-Za-z0-9_.-]`. */
export type NodeId = Brand<string, 'NodeId'>;
/** A position on the ring: an unsigned 32-bit integer. */
export type Token = Brand<number, 'Token'>;

/** The largest token. */
export const tokenMax = 0xffffffff;

/** The UTF-8 bytes of a text as a byte string. */
export function byteStringOf(text: string): ByteString {
  if (isAscii(text)) return text as ByteString;
  return Buffer.from(text, 'utf8').toString('latin1') as ByteString;
}

/** A copy of `bytes` as a byte string. */
export function byteStringFrom(bytes: Uint8Array): ByteString {
  return bufferOf(bytes).toString('latin1') as ByteString;
}

/** The bytes of a byte string, in a new Buffer. */
export function bytesOf(value: ByteString): Buffer {
  return Buffer.from(value, 'latin1');
}

/** The UTF-8 text of a byte string, for people and JSON; invalid sequences become U+FFFD. */
export function textOf(value: ByteString): string {
  if (isAscii(value)) return value;
  return Buffer.from(value, 'latin1').toString('utf8');
}

/** The same memory as a Buffer: `bytes` itself if it is one (the usual case), otherwise a view. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Names are mostly ASCII: then the byte string is the text itself. */
function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

const nodeIdForm = /^[A-Za-z0-9_.-]{1,64}$/;

/** `name` as a node id; undefined unless it is 1 to 64 characters of `[A-Za-z0-9_.-]`. */
export function parseNodeId(name: string): NodeId | undefined {
  return nodeIdForm.test(name) ? (name as NodeId) : undefined;
}

/** `value` as a token; undefined unless it is an integer in 0..2^32-1. Never clamps. */
export function parseToken(value: number): Token | undefined {
  return Number.isInteger(value) && value >= 0 && value <= tokenMax ? (value as Token) : undefined;
}
