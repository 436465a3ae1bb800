/**
 * Reads files with secrets (credentials, private keys, tokens) and open files (certificates), with a bound on their
 * size. A file with secrets is refused if other users may use it, or if its group may write it.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { LockstepError } from '../../base/errors.ts';

/** The mode bits that a file with secrets must not have: write for the group, and everything for other users. */
const foreignBits = 0o027;

/** Reads a file with secrets. `what` names its content in errors, e.g. `credentials`. Throws `ConfigInvalid`. */
export function readSecretFile(file: string, bytesMax: number, what: string): Buffer {
  return readChecked(file, bytesMax, what, true);
}

/** Reads a file that any user may read, such as a certificate. Throws `ConfigInvalid`. */
export function readOpenFile(file: string, bytesMax: number, what: string): Buffer {
  return readChecked(file, bytesMax, what, false);
}

/** The `ConfigInvalid` errors of all attempts, not of the first one alone. Throws any other error. */
export function faultsAmong(attempts: readonly (() => unknown)[]): readonly LockstepError[] {
  return attempts.flatMap((attempt) => {
    try {
      attempt();
      return [];
    } catch (error) {
      if (error instanceof LockstepError && error.code === 'ConfigInvalid') return [error];
      throw error;
    }
  });
}

function readChecked(file: string, bytesMax: number, what: string, secret: boolean): Buffer {
  const refuse = (problem: string): LockstepError =>
    new LockstepError('ConfigInvalid', `${file} (${what}): ${problem}`);
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    throw refuse(describeFileError(error));
  }
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw refuse('it is not a file');
    const foreign = process.platform === 'win32' ? 0 : stat.mode & foreignBits;
    if (secret && foreign !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
      throw refuse(`others may use it (its mode is ${mode}); say: chmod 600 ${file}`);
    }
    if (stat.size > bytesMax) throw refuse(`it has ${stat.size} bytes; allowed: at most ${bytesMax}`);
    return readWhole(handle, stat.size);
  } finally {
    closeSync(handle);
  }
}

/** The file's first `size` bytes, or fewer if it has become shorter. One read may return only a part of them. */
function readWhole(handle: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  let length = 0;
  while (length < size) {
    const count = readSync(handle, bytes, length, size - length, length);
    if (count === 0) break;
    length += count;
  }
  return bytes.subarray(0, length);
}

/** A sentence for an error of the file system. */
export function describeFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES') return 'it may not be read (permission denied)';
  return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
