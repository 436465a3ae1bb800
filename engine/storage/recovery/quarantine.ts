/**
 * A store that no start can read, put out of the way of a new one: for what is worth less than a node that starts. Its
 * files stay, with `.unread` behind their names, until it happens again.
 */
import { LockstepError } from '../../base/errors.ts';
import type { Disk } from '../../io/disk.ts';
import { manifestName, numberOfName } from '../log/file-names.ts';
import type { StoreOptions } from '../options.ts';
import { Store } from '../store.ts';
import type { StoreIo } from '../store-io.ts';

/** Opens a store, or a new one in its place when what is there is `Corrupted`. Otherwise as `Store.open`. */
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
 * The manifest goes first: without it the other files are refused as it was, wherever a crash comes, and the next start
 * goes on here.
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
