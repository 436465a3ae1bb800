import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DiskHarness } from '../io/disk-harness.fixture.ts';
import { bytesAt, expectFailure, makeFile } from '../io/disk-harness.fixture.ts';
import { diskContract } from '../io/disk.contract.ts';
import { writeFullyDurably, readFile, writeFully } from '../io/disk.ts';
import { compileModule } from './compiled-modules.fixture.ts';
import { HeldElsewhere, substituteOf, takeLockAt } from './disk-lock.ts';
import { createRealDisk } from './disk.ts';
import { machineHarness, makeTemporaryDirectory, removeDirectory } from './machine.fixture.ts';

const noCrash = 'a process cannot cut the power of its machine; sim/world runs this law';
const noFailure = 'a process cannot make its disk fail at will; sim/world runs this law';

/** The disk port as JavaScript, for separate processes. */
let compiled = '';

beforeAll(async () => {
  compiled = await makeTemporaryDirectory();
  await compileModule('engine/real/disk.ts', compiled);
});

afterAll(() => removeDirectory(compiled));

diskContract('machine', makeHarness, {
  'what sync covered survives every crash': noCrash,
  'what a durable write wrote survives every crash, and takes nothing else with it': noCrash,
  'a sync that began before a durable write ended does not cut it off': noCrash,
  'of durable writes under way a crash may leave any, and those that were answered it leaves whole': noCrash,
  'a second crash takes nothing more': noCrash,
  'the calls of a dead incarnation are never answered': noCrash,
  'a crash can lose all that was not synced': noCrash,
  'a crash can keep all that was not synced': noCrash,
  'a crash can tear what was not synced, sector by sector, and nothing else': noCrash,
  'a torn overwrite leaves each sector old or new': noCrash,
  'a new name is durable only after its directory is synced': noCrash,
  'a removal is durable only after its directory is synced': noCrash,
  'a rename is durable after its directory is synced': noCrash,
  'a rename without a directory sync leaves the old file or the new one, never neither': noCrash,
  'a directory that was made survives with those above it': noCrash,
  'a file under replacement is the old one or the new one, whole, whenever the crash comes': noCrash,
  'what a failed sync covered is lost, whatever a later sync says': noFailure,
  'what a failed durable write wrote is lost, whatever a later sync says': noFailure,
  'a full or failing disk says so and goes on': noFailure,
  'short reads and writes move everything in the end': noFailure,
});

describe('the disk on a machine', () => {
  it.skipIf(!existsSync('/proc/self/fd'))(
    'keeps one descriptor of a file that is written no more',
    async () => {
      await inDirectory(async (directory) => {
        const disk = createRealDisk(directory);
        const links = async (): Promise<number> => {
          const own = await readdir('/proc/self/fd');
          const targets = await Promise.all(own.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
          return targets.filter((target) => target.startsWith(directory)).length;
        };
        const files = [];
        for (let index = 0; index < 50; index++) {
          const file = await disk.open(`f${index}`, 'create');
          files.push(file);
          await Promise.all([0, 1, 2].map((at) => writeFullyDurably(file, [Buffer.from('x')], at)));
        }
        // Idle lanes are closed in the background.
        await expect.poll(links, { timeout: 60_000 }).toBeLessThanOrEqual(50 + 16);
        // A file whose idle lane was closed opens another one.
        for (const file of files) expect(await writeFullyDurably(file, [Buffer.from('yz')], 3)).toBe(5);
        expect((await readFile(disk, 'f0', 100))?.toString()).toBe('xxxyz');
        for (const file of files) await file.close();
        await expect.poll(links, { timeout: 60_000 }).toBe(0);
      });
    },
  );

  it('makes its data directory, with those above it, for its owner only', async () => {
    await inDirectory(async (directory) => {
      const disk = createRealDisk(join(directory, 'a/b/c'));
      await makeFile(disk, 'file', 'x');
      expect((await stat(join(directory, 'a/b/c'))).mode & 0o777).toBe(0o700);
      expect((await stat(join(directory, 'a/b/c/file'))).mode & 0o777).toBe(0o600);
    });
  });

  it.skipIf(process.platform !== 'linux')('a full device is told as noSpace', async () => {
    await inDirectory(async (directory) => {
      const disk = createRealDisk(directory);
      await symlink('/dev/full', join(directory, 'full'));
      const file = await disk.open('full', 'readWrite');
      await expectFailure('noSpace', () => writeFully(file, [Buffer.from('x')], 0));
      await file.close();
    });
  });

  it('a failure has the system’s error as its cause', async () => {
    await inDirectory(async (directory) => {
      const disk = createRealDisk(directory);
      await mkdir(join(directory, 'd'));
      const error = await disk.remove('d').catch((caught: unknown) => caught);
      expect(error).toMatchObject({ failure: 'invalid', operation: 'remove', cause: { code: 'EISDIR' } });
    });
  });

  it('a file closed with calls under way finishes them before its descriptor is free', async () => {
    await inDirectory(async (directory) => {
      const disk = createRealDisk(directory);
      const file = await disk.open('file', 'create');
      const writes = Array.from({ length: 20 }, (_, index) =>
        writeFully(file, [Buffer.alloc(4096, index)], index * 4096),
      );
      const closing = file.close();
      await Promise.all([...writes, closing, file.close()]);
      const again = await disk.open('file', 'read');
      const bytes = await bytesAt(again, 0, 20 * 4096);
      expect(bytes.every((byte, at) => byte === Math.floor(at / 4096))).toBe(true);
      await again.close();
    });
  });

  it('a data directory with a path longer than a socket name can be locked', async () => {
    await inDirectory(async (directory) => {
      const disk = createRealDisk(join(directory, 'x'.repeat(120), 'y'.repeat(120)));
      const held = await disk.lock('lock');
      await expectFailure('locked', () => disk.lock('lock'));
      await held.release();
      await (await disk.lock('lock')).release();
    });
  });

  it('neither a released lock nor a dead holder leaves files behind', async () => {
    const harness = await makeHarness();
    const disk = await harness.dieHolding('lock');
    expect(await disk.list('lock')).toHaveLength(1);
    await (await disk.lock('lock')).release();
    expect(await disk.list('lock')).toEqual([]);
    await harness.close();
  });

  it('a stopped process still holds its lock', async () => {
    const directory = await makeTemporaryDirectory();
    const holder = await holdInProcess(directory, 'lock');
    holder.kill('SIGSTOP');
    const disk = createRealDisk(directory);
    await expectFailure('locked', () => disk.lock('lock'));
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await (await disk.lock('lock')).release();
    await removeDirectory(directory);
  });

  it('where the file system has no sockets, the substitute directory excludes in the same way', async () => {
    await inDirectory(async (directory) => {
      const substitute = await substituteOf(directory);
      expect(substitute).toBe(await substituteOf(join(directory, '.')));
      const held = await takeLockAt(substitute);
      await expect(takeLockAt(substitute)).rejects.toThrow(HeldElsewhere);
      await held.release();
      await (await takeLockAt(substitute)).release();
      expect(await readdir(substitute)).toEqual([]);
      await removeDirectory(substitute);
    });
  });
});

async function makeHarness(): Promise<DiskHarness> {
  const directory = await makeTemporaryDirectory();
  const disk = createRealDisk(directory);
  return {
    ...machineHarness([() => removeDirectory(directory)]),
    disk,
    dieHolding: async (lockPath) => {
      const holder = await holdInProcess(directory, lockPath);
      await expectFailure('locked', () => disk.lock(lockPath));
      holder.kill('SIGKILL');
      await once(holder, 'exit');
      return createRealDisk(directory);
    },
    faults: undefined,
  };
}

/** A separate process that holds the lock until it is killed. */
async function holdInProcess(directory: string, lockPath: string): Promise<ReturnType<typeof spawn>> {
  const program = `
    import { createRealDisk } from ${JSON.stringify(join(compiled, 'engine/real/disk.js'))};
    await createRealDisk(${JSON.stringify(directory)}).lock(${JSON.stringify(lockPath)});
    process.stdout.write('held');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await once(child.stdout, 'data');
  expect(String(said)).toBe('held');
  return child;
}

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await makeTemporaryDirectory();
  try {
    await body(directory);
  } finally {
    await removeDirectory(directory);
  }
}
