/**
 * Percent-encodes names in paths and headers (RFC 3986 section 2.1). Buckets and keys are bytes, not text: any byte may
 * follow as `%XX`, and nothing is interpreted as UTF-8.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';

const broken = /%(?![0-9A-Fa-f]{2})|[\u0100-\uffff]/;
const escaped = /%([0-9A-Fa-f]{2})/g;
const reserved = /[^A-Za-z0-9._~-]/g;

/** Decodes `text` to bytes. Throws `BadRequest` that names `what`, for a `%` without two hex digits. */
export function percentDecode(text: string, what: string): ByteString {
  if (broken.test(text)) {
    throw new LockstepError('BadRequest', `${what} is badly percent-encoded: every % needs two hex digits`);
  }
  return text.replace(escaped, characterOf) as ByteString;
}

/**
 * Decodes `text` to bytes where clients may write it unencoded: a `%` without two hex digits stands for itself, as in
 * Riak. `text` comes from a header and has no characters beyond one byte.
 */
export function percentDecodeLeniently(text: string): ByteString {
  return text.replace(escaped, characterOf) as ByteString;
}

function characterOf(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}

/** Encodes all bytes except RFC 3986's unreserved characters. */
export function percentEncode(bytes: ByteString): string {
  return bytes.replace(reserved, percentOf);
}

/** One byte as `%XX`; `%0A` for a line feed. */
export function percentOf(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
