/**
 * Moves an unreadable store out of the way of a new one, for data that matters less than a node that starts (hints),
 * and a store that a start does not open. Its files stay, with `.unread` appended to their names, until the next
 * quarantine.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
import { asStoreError } from '../faults.ts';
import { manifestName, numberOfName } from '../log/file-names.ts';
import type { StoreOptions } from '../options.ts';
import { Store } from '../store.ts';
import type { StoreIo } from '../store-io.ts';

/** Opens a store; if it is `Corrupted`, quarantines its files and opens a new one. Otherwise as `Store.open`. */
export async function openOrQuarantine(
  io: StoreIo,
  directory: string,
  options: StoreOptions,
): Promise<Store> {
  try {
    return await Store.open(io, directory, options);
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'Corrupted') throw error;
    const files = await setAside(io.disk, directory);
    io.log.event('error', 'store.set.aside', { directory, files, reason: error.message });
    return Store.open(io, directory, options);
  }
}

/**
 * Quarantines the store in the directory, if there is one, because this start does not open it. A later start that
 * opened it would find what it held then, and not what has become of that since. A store without a manifest is left: no
 * start opens it. Rejects with `StorageFailed`.
 */
export async function quarantineUnopened(
  { disk, log }: StoreIo,
  directory: string,
  reason: string,
): Promise<void> {
  try {
    if ((await disk.size(`${directory}/${manifestName}`)) === undefined) return;
    log.event('warn', 'store.set.aside', { directory, files: await setAside(disk, directory), reason });
  } catch (error) {
    throw asStoreError(error, 'the store cannot be set aside');
  }
}

/**
 * Renames the manifest first. Without it a start refuses the remaining files as before, so after a crash the next start
 * continues here.
 */
async function setAside(disk: Disk, directory: string): Promise<number> {
  const names = (await disk.list(directory)).filter((name) => numberOfName(name) !== undefined);
  const manifest = (await disk.size(`${directory}/${manifestName}`)) === undefined ? [] : [manifestName];
  for (const name of [...manifest, ...names]) {
    await disk.rename(`${directory}/${name}`, `${directory}/${name}.unread`);
    if (name === manifestName) await disk.syncDirectory(directory);
  }
  await disk.syncDirectory(directory);
  return manifest.length + names.length;
}
