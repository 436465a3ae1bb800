/**
 * Percent-encoding of names in paths and headers (RFC 3986 section 2.1). Buckets and keys are bytes, not text: any
 * byte may stand behind a `%`, and none is taken for UTF-8.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';

const broken = /%(?![0-9A-Fa-f]{2})|[\u0100-\uffff]/;
const escaped = /%([0-9A-Fa-f]{2})/g;
const reserved = /[^A-Za-z0-9._~-]/g;

/** The bytes that `text` stands for. Throws `BadRequest`, naming `what`, for a `%` without two hex digits. */
export function percentDecode(text: string, what: string): ByteString {
  if (broken.test(text)) {
    throw new LockstepError('BadRequest', `${what} is badly percent-encoded: every % needs two hex digits`);
  }
  return text.replace(escaped, characterOf) as ByteString;
}

/**
 * The bytes that `text` stands for, where clients write such text as it is: a `%` without two hex digits is itself, as
 * Riak takes it. `text` is a header's: it has no characters beyond one byte.
 */
export function percentDecodeLeniently(text: string): ByteString {
  return text.replace(escaped, characterOf) as ByteString;
}

function characterOf(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** The bytes with all but RFC 3986's unreserved characters encoded. */
export function percentEncode(bytes: ByteString): string {
  return bytes.replace(reserved, percentOf);
}

/** `%0A` for a line feed. */
export function percentOf(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
