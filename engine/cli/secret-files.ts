/**
 * Files that hold what not everybody may know: credentials, private keys, tokens. They are read bounded, and refused
 * where others than their owner (and the owner's group, for reading) have a part in them.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

import { LockstepError } from '../base/errors.ts';

/** Bits of a file's mode that nobody else may have: the group's to write, and all of the others'. */
const foreignBits = 0o027;

/** The file's bytes. Throws `ConfigInvalid` naming what is wrong and what to do. `what` is a noun: `credentials`. */
export function readSecretFile(file: string, bytesMax: number, what: string): Buffer {
  return readChecked(file, bytesMax, what, true);
}

/** The same for what anybody may read: certificates. */
export function readOpenFile(file: string, bytesMax: number, what: string): Buffer {
  return readChecked(file, bytesMax, what, false);
}

/** Everything that is wrong with what is attempted, not the first of it alone. Other errors are thrown. */
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
    if (!stat.isFile()) throw refuse('it is no file');
    const foreign = process.platform === 'win32' ? 0 : stat.mode & foreignBits;
    if (secret && foreign !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
      throw refuse(`others may use it (its mode is ${mode}); say: chmod 600 ${file}`);
    }
    if (stat.size > bytesMax) throw refuse(`it has ${stat.size} bytes; allowed: at most ${bytesMax}`);
    const bytes = Buffer.alloc(stat.size);
    const count = readSync(handle, bytes, 0, bytes.length, 0);
    return bytes.subarray(0, count);
  } finally {
    closeSync(handle);
  }
}

/** What the file system said, in words. */
export function describeFileError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EACCES') return 'it may not be read (permission denied)';
  return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}
