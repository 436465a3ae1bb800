/**
 * Encodes error answers of the binary protocol. Riak's own texts are used where they exist (`timeout`, `modified`,
 * `Unknown message code: 99`); every other text begins with the error's code. `error-numbers.ts` chooses the number.
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

/** The frame of one of the product's own errors. */
export function errorFrameOf(error: LockstepError): Buffer {
  return errorFrame(error.code, textOf(error), error.definite);
}

/** Riak reports an unmet quorum as its Erlang term, with the needed number before the received one. */
function textOf({ code, message, facts: { votes } }: LockstepError): string {
  if (code === 'Timeout') return 'timeout';
  if (code !== 'NoQuorum' || votes?.quorum === undefined) return `${code}: ${message}`;
  return `{${votes.quorum}_val_unsatisfied,${votes.needed},${votes.got}}`;
}
