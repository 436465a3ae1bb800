/**
 * Branded identifiers, so that a node's name cannot be passed where a rack's is meant.
 *
 * Buckets, keys and types are arbitrary bytes in Riak's protocols. They are held as *byte strings*: JavaScript
 * strings in which every character is one byte (0..255). V8 stores those with one byte per character, they work as
 * Map keys, and they convert to and from Buffers at memory speed (`latin1`). Text becomes a byte string by UTF-8.
 */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** A string whose every character is one byte (code 0..255). */
export type ByteString = Brand<string, 'ByteString'>;
/** A node's name, unique in its cluster: 1..64 of `[A-Za-z0-9_.-]`. */
export type NodeId = Brand<string, 'NodeId'>;
/** A place on the ring: an unsigned 32-bit integer. */
export type Token = Brand<number, 'Token'>;

export const tokenMax = 0xffffffff;

/** The byte string of a text: its UTF-8 bytes. */
export function byteStringOf(text: string): ByteString {
  if (isAscii(text)) return text as ByteString;
  return Buffer.from(text, 'utf8').toString('latin1') as ByteString;
}

/** The byte string of some bytes (copied). */
export function byteStringFrom(bytes: Uint8Array): ByteString {
  return bufferOf(bytes).toString('latin1') as ByteString;
}

/** The bytes of a byte string. */
export function bytesOf(value: ByteString): Buffer {
  return Buffer.from(value, 'latin1');
}

/** For people and JSON: the UTF-8 text of a byte string (invalid sequences become U+FFFD). */
export function textOf(value: ByteString): string {
  if (isAscii(value)) return value;
  return Buffer.from(value, 'latin1').toString('utf8');
}

/** The same bytes as a Buffer: itself where it is one, which most are, otherwise a view. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Names are mostly ASCII, whose byte string is the text itself. */
function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
}

const nodeIdForm = /^[A-Za-z0-9_.-]{1,64}$/;

/** `name` as a node id, or undefined when it is not 1..64 of `[A-Za-z0-9_.-]`. */
export function parseNodeId(name: string): NodeId | undefined {
  return nodeIdForm.test(name) ? (name as NodeId) : undefined;
}

/** `value` as a token, or undefined when it is not an integer in 0..2^32-1. Never saturates. */
export function parseToken(value: number): Token | undefined {
  return Number.isInteger(value) && value >= 0 && value <= tokenMax ? (value as Token) : undefined;
}
