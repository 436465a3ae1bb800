/** Maps faults of the disk to the errors of `base/errors.ts`. Other errors are bugs and pass unchanged. */
import { LockstepError } from '../base/errors.ts';
import { DiskError } from '../io/disk.ts';

/** The error of a read of a key whose newest value is lost, or may be. */
export function lostKey(): LockstepError {
  return new LockstepError('Corrupted', 'the newest value of the key is lost, or may be');
}

/** Whether the disk had no space. */
export function isFull(error: unknown): error is DiskError {
  return error instanceof DiskError && error.failure === 'noSpace';
}

/** Whether the error, or one of its causes, is a disk without space. */
export function lacksSpace(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isFull(cause)) return true;
  return false;
}

/** A `DiskError` as `StorageFailed`, with `what` at the front of its text; other errors unchanged. */
export function asStoreError(error: unknown, what: string): Error {
  if (error instanceof DiskError)
    return new LockstepError('StorageFailed', `${what}: ${error.message}`, { cause: error });
  return error instanceof Error ? error : new LockstepError('Internal', String(error));
}
