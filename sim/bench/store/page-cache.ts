/** Drops files from the kernel's page cache, so that the next read of them goes to the disk. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Syncs every file under a directory and drops it from the page cache (posix_fadvise through GNU dd, which needs no
 * privileges). Throws where there is no such dd.
 */
export function dropFromPageCache(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const words = [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'];
    execFileSync('dd', ['if=/dev/null', ...words]);
  }
}
