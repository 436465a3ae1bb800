/** Reads files that a user names: never more of them than their kind may hold. */
import { readFile, stat } from 'node:fs/promises';

import type { ErrorCode } from '../../engine/base/errors.ts';
import { LockstepError } from '../../engine/base/errors.ts';

/** Most bytes of what a campaign leaves for the next one: results, scores, corpora. */
export const campaignBytesMax = 256 * 1024 * 1024;

/**
 * The text of the file. `what` names its kind, as `plan`. Throws an error of this code for a larger one, before it reads
 * any of it, and what the file system throws.
 */
export async function readText(
  file: string,
  { what, bytesMax, code }: { readonly what: string; readonly bytesMax: number; readonly code: ErrorCode },
): Promise<string> {
  const { size } = await stat(file);
  if (size > bytesMax)
    throw new LockstepError(code, `${file}: a ${what} of ${size} bytes; at most ${bytesMax} are read`);
  return readFile(file, 'utf8');
}
