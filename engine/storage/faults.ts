/**
 * How the store words what goes wrong: faults of the disk become errors of the product's table, bugs stay bugs.
 */
import { LockstepError } from '../base/errors.ts';
import { DiskError } from '../io/disk.ts';

/** The key's newest value cannot be read, or may not be the one that can. */
export function lostKey(): LockstepError {
  return new LockstepError('Corrupted', 'the newest value of the key is lost, or may be');
}

/** The disk had no room for it. */
export function isFull(error: unknown): error is DiskError {
  return error instanceof DiskError && error.failure === 'noSpace';
}

/** It, or what caused it, is a disk without room. */
export function lacksSpace(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isFull(cause)) return true;
  return false;
}

/** A fault of the disk, in the product's words; bugs stay what they are. */
export function asStoreError(error: unknown, what: string): Error {
  if (error instanceof DiskError)
    return new LockstepError('StorageFailed', `${what}: ${error.message}`, { cause: error });
  return error instanceof Error ? error : new LockstepError('Internal', String(error));
}
