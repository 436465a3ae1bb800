/**
 * The lock of a store that a command works on. Whoever may write takes it, and no node starts meanwhile. On a medium that
 * cannot be written a command that only reads looks whether a living process holds it, before it reads and after, and
 * says so: a node that starts and stops in between, through another mount of the same files, is not seen.
 */
import { join } from 'node:path';

import { LockstepError } from '../base/errors.ts';
import type { Disk } from '../io/disk.ts';
import { DiskError } from '../io/disk.ts';
import { isHeld } from '../real/disk-lock.ts';
import { lockName } from '../storage/log/file-names.ts';

/** Where a store lies: the door to the directory above it, and its name there. */
export interface Place {
  readonly disk: Disk;
  /** The directory above, as the system knows it. */
  readonly root: string;
  readonly directory: string;
}

/** What the system says where nothing can be written: the medium, the rights, or a file that is marked so. */
const readOnlyCodes: ReadonlySet<unknown> = new Set(['EROFS', 'EACCES', 'EPERM']);

/** Works while nobody else has the store. Rejects with `DirectoryLocked`. */
export async function whileLocked<T>({ disk, directory }: Place, work: () => Promise<T>): Promise<T> {
  const lock = await lockOf(disk, directory);
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

/**
 * As `whileLocked`, for work that only reads: also where no lock can be made, which `say` is told of. Rejects with
 * `DirectoryLocked` when a node has the store, has it by the end, or when one cannot see whether one has.
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
