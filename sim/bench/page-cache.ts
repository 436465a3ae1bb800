/** Makes the kernel forget the pages of files, so that the next read of them is one of the disk. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Syncs every file under a directory and drops it from the page cache (posix_fadvise, by way of GNU dd: a process needs
 * no rights for that). Throws where there is no such dd.
 */
export function dropFromPageCache(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const words = [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'];
    execFileSync('dd', ['if=/dev/null', ...words]);
  }
}
