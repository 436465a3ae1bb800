/** Reads the JSON of a file that a user names. */
import type { ErrorCode } from '../../engine/base/errors.ts';
import { LockstepError } from '../../engine/base/errors.ts';

/** The value of the text. Throws an error of this code, `the plan is not JSON: …`, that prints on any terminal. */
export function jsonOf(text: string, what: string, code: ErrorCode): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const why = reasonOf(text, cause instanceof Error ? cause.message : String(cause));
    throw new LockstepError(code, `the ${what} is not JSON: ${why}`, { cause });
  }
}

/** Why it is none. `message`: what JavaScript says; it quotes the text, which may be anything. */
function reasonOf(text: string, message: string): string {
  if (text.trim() === '') return 'it is empty';
  const at = / at position (\d+)/.exec(message)?.[1];
  const isCut =
    at === undefined ? cutOff.test(message) : Number(at) >= text.trimEnd().length || cutOff.test(message);
  if (isCut) return `it is cut off after ${text.length} characters; write or copy the file once more`;
  return message.replace(/[^\x20-\x7e]/g, '?');
}

/** What JavaScript says of JSON that ends too early. */
const cutOff = /Unexpected end|Unterminated/;

/** Rethrows the error of reading a file, with the file's name before it. Other errors than ours stay as they are. */
export function inFile(file: string, error: unknown): unknown {
  return error instanceof LockstepError
    ? new LockstepError(error.code, `${file}: ${error.message}`, { cause: error })
    : error;
}
