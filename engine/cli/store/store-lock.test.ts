/** A command that only reads a store, and may not write the lock, checks that no node runs on the store. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { Disk, DiskLock } from '../../io/disk.ts';
import { DiskError } from '../../io/disk.ts';
import { createRealDisk } from '../../real/disk.ts';
import type { Place } from './store-lock.ts';
import { whileLocked, whileNobodyWrites } from './store-lock.ts';

let root = '';
let disk: Disk;
let said: string[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lockstep-store-lock-'));
  mkdirSync(join(root, 'store'));
  disk = createRealDisk(root);
  said = [];
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** The place with a disk port whose `lock` fails with the system's `code`. */
function placeWithout(code: string): Place {
  const cause = Object.assign(new Error(`${code}: no`), { code });
  const lock = (path: string): Promise<DiskLock> =>
    Promise.reject(new DiskError('fault', 'lock', path, { cause }));
  return { disk: { ...disk, lock }, root, directory: 'store' };
}

const work = (): Promise<string> => Promise.resolve('read');
const look = (place: Place, doing = work): Promise<string> =>
  whileNobodyWrites(place, (notice) => said.push(notice), doing);

describe('a store is read', () => {
  test('with its lock if the lock can be made, and without a notice', async () => {
    const place = { disk, root, directory: 'store' };
    const inside = (): Promise<string> => look(place);
    expect(await inside()).toBe('read');
    await expect(whileLocked(place, inside)).rejects.toMatchObject({ code: 'DirectoryLocked' });
    expect(said).toEqual([]);
  });

  test.each(['EROFS', 'EACCES', 'EPERM'])(
    'without one where nothing can be written (%s), which is said',
    async (code) => {
      expect(await look(placeWithout(code))).toBe('read');
      expect(said).toEqual([expect.stringContaining('cannot be written, so it is read without a lock')]);
      expect(readdirSync(join(root, 'store'))).toEqual([]);
    },
  );

  test('not without a lock if a running node holds it before or after the reading', async () => {
    const place = placeWithout('EROFS');
    const held = await disk.lock('store/LOCK');
    await expect(look(place)).rejects.toThrow(/a running node holds the store; stop it first .*LOCK answers/);
    await held.release();
    expect(await look(place)).toBe('read');
    let late: DiskLock | undefined;
    const meanwhile = async (): Promise<string> => {
      late = await disk.lock('store/LOCK');
      return 'read';
    };
    await expect(look(place, meanwhile)).rejects.toMatchObject({ code: 'DirectoryLocked' });
    await late?.release();
  });

  test('never if making the lock fails for another reason', async () => {
    await expect(look(placeWithout('EIO'))).rejects.toThrow('disk lock store/LOCK: fault');
  });

  test('never without a lock by a command that writes', async () => {
    await expect(whileLocked(placeWithout('EROFS'), work)).rejects.toThrow('disk lock store/LOCK: fault');
  });
});
