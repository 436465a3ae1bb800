/** Decoding at a module's edge: what malformed bytes (`BytesError`) become there. Other errors pass. */
import { ByteReader, BytesError } from './bytes.ts';
import type { ErrorCode } from './errors.ts';
import { LockstepError } from './errors.ts';

/** What `decode` returns; undefined for malformed bytes. */
export function tryDecode<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

/** What `read` returns; undefined if it meets malformed bytes, or leaves some unread. */
export function tryDecodeWhole<T>(bytes: Uint8Array, read: (reader: ByteReader) => T): T | undefined {
  return tryDecode(() => readWhole(bytes, read));
}

/** What `decode` returns; for malformed bytes throws `code` with `<what> that does not decode`. */
export function mustDecode<T>(what: string, decode: () => T, code: ErrorCode = 'BadRequest'): T {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError(code, `${what} that does not decode: ${error.message}`, { cause: error });
  }
}

/** What `read` returns; for malformed or unread bytes throws `BadRequest` with `<what> that does not decode`. */
export function mustDecodeWhole<T>(what: string, bytes: Uint8Array, read: (reader: ByteReader) => T): T {
  return mustDecode(what, () => readWhole(bytes, read));
}

function readWhole<T>(bytes: Uint8Array, read: (reader: ByteReader) => T): T {
  const reader = new ByteReader(bytes);
  const value = read(reader);
  reader.end();
  return value;
}
