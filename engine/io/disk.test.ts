import { expect, test } from 'vitest';

import type { Disk } from './disk.ts';
import { DiskError, readFile } from './disk.ts';

test('a file that is removed while it is being opened reads as one that is not there', async () => {
  const removed: Pick<Disk, 'size' | 'open'> = {
    size: () => Promise.resolve(3),
    open: (path) => Promise.reject(new DiskError('notFound', 'open', path)),
  };
  expect(await readFile(removed, 'a', 10)).toBeUndefined();
  const failing: Pick<Disk, 'size' | 'open'> = {
    size: () => Promise.resolve(3),
    open: (path) => Promise.reject(new DiskError('fault', 'open', path)),
  };
  await expect(readFile(failing, 'a', 10)).rejects.toMatchObject({ failure: 'fault' });
});
