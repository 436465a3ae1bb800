/**
 * Locks the store that a command works on, so that no node starts on it meanwhile. On a read-only medium the lock
 * cannot be taken. There a command that only reads checks, before and after it reads, that no living process holds the
 * lock, and prints a notice. It does not notice a node that starts and stops in between through another mount of the
 * same files.
 */
import { join } from 'node:path';

import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError } from '../../io/disk.ts';
import { isHeld } from '../../real/disk-lock.ts';
import { lockName } from '../../storage/log/file-names.ts';

/** The place of a store: the disk port of the directory above it, and the store's name there. */
export interface Place {
  readonly disk: Disk;
  /** The absolute path of the directory above. */
  readonly root: string;
  readonly directory: string;
}

/** The system's error codes for a read-only medium, missing rights, or an immutable file. */
const readOnlyCodes: ReadonlySet<unknown> = new Set(['EROFS', 'EACCES', 'EPERM']);

/** Runs `work` with the store's lock. Rejects with `DirectoryLocked` if a node holds it. */
export async function whileLocked<T>({ disk, directory }: Place, work: () => Promise<T>): Promise<T> {
  const lock = await lockOf(disk, directory);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/**
 * Runs work that only reads, with the lock or, if the lock cannot be made, without it after a notice to `say`. Rejects
 * with `DirectoryLocked` if a node holds the store before or after the work, or if that cannot be determined.
 */
export async function whileNobodyWrites<T>(
  place: Place,
  say: (notice: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await whileLocked(place, work);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
  }
  await refuseHeld(place);
  say(notice);
  const result = await work();
  await refuseHeld(place);
  return result;
}

const notice =
  'the directory cannot be written, so it is read without a lock; no running node holds it, which is looked at again at the end';

async function refuseHeld({ root, directory }: Place): Promise<void> {
  const path = join(root, directory, lockName);
  let held: boolean;
  try {
    held = await isHeld(path);
  } catch (error) {
    const detail = `nothing can be written, and ${lockName} cannot be read to see whether a node runs on it`;
    throw new LockstepError('DirectoryLocked', detail, { cause: error });
  }
  if (held) throw new LockstepError('DirectoryLocked', `${stopFirst} (a socket in its ${lockName} answers)`);
}

const stopFirst = 'a running node holds the store; stop it first';

async function lockOf(disk: Disk, directory: string): ReturnType<Disk['lock']> {
  try {
    return await disk.lock(`${directory}/${lockName}`);
  } catch (error) {
    if (!(error instanceof DiskError) || error.failure !== 'locked') throw error;
    throw new LockstepError('DirectoryLocked', stopFirst, { cause: error });
  }
}

function isReadOnly(error: unknown): boolean {
  if (!(error instanceof DiskError) || error.operation !== 'lock') return false;
  return error.cause instanceof Error && 'code' in error.cause && readOnlyCodes.has(error.cause.code);
}
