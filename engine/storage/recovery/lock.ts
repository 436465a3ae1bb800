/** Makes a store's directory durable and locks it for one process. */
import { LockstepError } from '../../base/errors.ts';
import type { Disk, DiskLock } from '../../io/disk.ts';
import { DiskError, parentOf } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';
import { asStoreError } from '../faults.ts';
import { lockName } from '../log/file-names.ts';

/** Makes the directory if necessary and takes its lock. Rejects with `DirectoryLocked` or `StorageFailed`. */
export async function takeLock(io: StoreIo, directory: string): Promise<DiskLock> {
  try {
    await makeStoreDirectory(io.disk, directory);
    return await io.disk.lock(`${directory}/${lockName}`);
  } catch (error) {
    if (error instanceof DiskError && error.failure === 'locked') {
      throw new LockstepError('DirectoryLocked', `another process holds the store in ${directory}`, {
        cause: error,
      });
    }
    throw asStoreError(error, 'the store cannot be opened');
  }
}

/** Makes the directory and its name durable. */
async function makeStoreDirectory(disk: Disk, directory: string): Promise<void> {
  await disk.makeDirectory(directory);
  for (let path = directory; path !== ''; path = parentOf(path)) await disk.syncDirectory(parentOf(path));
}
