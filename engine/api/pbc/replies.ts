/**
 * Error answers of the binary protocol. Riak's own words are kept where Riak has them (`timeout`, `modified`,
 * `Unknown message code: 99`); every other text begins with the code. The number is error-numbers.ts.
 */
import type { ErrorCode, LockstepError } from '../../base/errors.ts';
import { wireNumberOf } from './error-numbers.ts';
import { messages } from './schema.ts';

/** The frame of an error with a text of Riak's. */
export function errorFrame(code: ErrorCode, text: string, definite = false): Buffer {
  return messages.errorResp.encode({
    errmsg: Buffer.from(text, 'utf8'),
    errcode: wireNumberOf(code, text, definite),
  });
}

/** The frame of one of our own errors. */
export function errorFrameOf(error: LockstepError): Buffer {
  const text = error.code === 'Timeout' ? 'timeout' : `${error.code}: ${error.message}`;
  return errorFrame(error.code, text, error.definite);
}
