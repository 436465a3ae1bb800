/**
 * Moves an unreadable store out of the way of a new one, for data that matters less than a node that starts (hints).
 * Its files stay, with `.unread` appended to their names, until the next quarantine.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
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
