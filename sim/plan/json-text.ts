/** Reads the JSON of a file that a user names. */
import type { ErrorCode } from '../../engine/base/errors.ts';
import { LockstepError } from '../../engine/base/errors.ts';

/** The value of the text. Throws an error of this code, `the plan is not JSON: …`, that prints on any terminal. */
export function jsonOf(text: string, what: string, code: ErrorCode): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    // The message quotes the text, which may be anything.
    throw new LockstepError(code, `the ${what} is not JSON: ${why.replace(/[^\x20-\x7e]/g, '?')}`, { cause });
  }
}

/** Rethrows the error of reading a file, with the file's name before it. Other errors than ours stay as they are. */
export function inFile(file: string, error: unknown): unknown {
  return error instanceof LockstepError
    ? new LockstepError(error.code, `${file}: ${error.message}`, { cause: error })
    : error;
}
