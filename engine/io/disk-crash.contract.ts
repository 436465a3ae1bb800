/**
 * The laws of the disk port (`disk.ts`) about crashes and failing disks: what survives, what may be lost, and that it
 * is lost when the harness says so. (A disk that never loses anything would pass every other law and hide every bug.)
 * All of them need `DiskFaults`, so the machine skips them by name.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { present } from '../base/assert.ts';
import { sleep } from './clock.ts';
import type { DiskFaults, DiskHarness, Unsynced } from './disk-harness.fixture.ts';
import { bytesAt, expectFailure, makeFile } from './disk-harness.fixture.ts';
import type { Disk } from './disk.ts';
import { readFile, readFully, replaceFile, writeFully, writeFullyDurably } from './disk.ts';
import type { LawRegister } from './law.contract.ts';

const unsyncedKinds: readonly Unsynced[] = ['lost', 'kept', 'torn'];
const sectorBytes = 512;

export function crashLaws(suite: LawRegister<DiskHarness>): void {
  syncedLaws(suite);
  unsyncedLaws(suite);
  nameCrashLaws(suite);
  failureLaws(suite);
}

function syncedLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('what sync covered survives every crash', async (harness) => {
    const faults = faultsOf(harness);
    let disk = harness.disk;
    for (const unsynced of unsyncedKinds) {
      const path = `file-${unsynced}`;
      await makeDurable(disk, path, Buffer.alloc(5000, 7));
      const file = await disk.open(path, 'readWrite');
      await file.truncate(3000);
      await writeFully(file, [Buffer.alloc(100, 8)], 2950);
      await file.sync();
      disk = await faults.crash(unsynced);
      const expected = Buffer.concat([Buffer.alloc(2950, 7), Buffer.alloc(100, 8)]);
      expect(await readFile(disk, path, 9999)).toEqual(expected);
    }
  });

  suite.law(
    'what a durable write wrote survives every crash, and takes nothing else with it',
    async (harness) => {
      const faults = faultsOf(harness);
      let disk = harness.disk;
      for (const unsynced of unsyncedKinds) {
        const path = `file-${unsynced}`;
        await makeDurable(disk, path, Buffer.alloc(1000, 1));
        const file = await disk.open(path, 'readWrite');
        await writeFully(file, [Buffer.alloc(1024, 2)], 1024);
        await writeFullyDurably(file, [Buffer.alloc(700, 3), Buffer.alloc(800, 4)], 2048);
        disk = await faults.crash(unsynced);
        const found = (await readFile(disk, path, 9999)) ?? Buffer.alloc(0);
        expect(found.subarray(0, 1000)).toEqual(Buffer.alloc(1000, 1));
        expect(found.subarray(2048, 3548)).toEqual(
          Buffer.concat([Buffer.alloc(700, 3), Buffer.alloc(800, 4)]),
        );
        if (unsynced === 'lost') expect(found.subarray(1000, 2048)).toEqual(Buffer.alloc(1048));
      }
    },
  );

  suite.law('a sync that began before a durable write ended does not cut it off', async (harness) => {
    const file = await harness.disk.open('file', 'create');
    await harness.disk.syncDirectory('');
    await writeFully(file, [Buffer.alloc(600, 1)], 0);
    await Promise.all([writeFullyDurably(file, [Buffer.alloc(600, 2)], 600), file.sync()]);
    const found = await readFile(await faultsOf(harness).crash('lost'), 'file', 9999);
    expect(found).toEqual(Buffer.concat([Buffer.alloc(600, 1), Buffer.alloc(600, 2)]));
  });

  suite.property(
    'of durable writes under way a crash may leave any, and those that were answered it leaves whole',
    fc.record({ delayUs: fc.nat(8000), unsynced: fc.constantFrom(...unsyncedKinds) }),
    40,
    async (harness, { delayUs, unsynced }) => {
      await makeDurable(harness.disk, 'file', Buffer.alloc(4096));
      const file = await harness.disk.open('file', 'readWrite');
      const answered = new Set<number>();
      for (let part = 0; part < 4; part++) {
        const writing = writeFullyDurably(file, [Buffer.alloc(1024, part + 1)], part * 1024);
        void writing.then(
          () => answered.add(part),
          () => undefined,
        );
      }
      await sleep(harness.clock, delayUs);
      const certain = [...answered];
      const found =
        (await readFile(await faultsOf(harness).crash(unsynced), 'file', 9999)) ?? Buffer.alloc(0);
      for (const part of certain) {
        expect(found.subarray(part * 1024, (part + 1) * 1024)).toEqual(Buffer.alloc(1024, part + 1));
      }
    },
  );

  suite.law('a second crash takes nothing more', async (harness) => {
    const faults = faultsOf(harness);
    await makeDurable(harness.disk, 'file', Buffer.alloc(2000, 1));
    const file = await harness.disk.open('file', 'readWrite');
    await writeFully(file, [Buffer.alloc(4000, 2)], 1000);
    const first = await readFile(await faults.crash('torn'), 'file', 9999);
    expect(await readFile(await faults.crash('lost'), 'file', 9999)).toEqual(first);
  });

  suite.law('the calls of a dead incarnation are never answered', async (harness) => {
    const faults = faultsOf(harness);
    const file = await harness.disk.open('file', 'create');
    const heard: string[] = [];
    const listen = (call: Promise<unknown>): void => {
      void call.then(
        () => heard.push('resolved'),
        () => heard.push('rejected'),
      );
    };
    listen(file.sync());
    listen(writeFully(file, [Buffer.alloc(100)], 0));
    listen(harness.disk.list(''));
    await faults.crash('kept');
    await sleep(harness.clock, 1_000_000);
    expect(heard).toEqual([]);
  });
}

function unsyncedLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('a crash can lose all that was not synced', async (harness) => {
    const disk = await crashAfterAppend(harness, 'lost');
    expect(await readFile(disk, 'file', 99_999)).toEqual(Buffer.alloc(1000, 1));
  });

  suite.law('a crash can keep all that was not synced', async (harness) => {
    const disk = await crashAfterAppend(harness, 'kept');
    expect(await readFile(disk, 'file', 99_999)).toEqual(
      Buffer.concat([Buffer.alloc(1000, 1), Buffer.alloc(8000, 2)]),
    );
  });

  suite.overSeeds(
    'a crash can tear what was not synced, sector by sector, and nothing else',
    60,
    async (harness) =>
      (await readFile(await crashAfterAppend(harness, 'torn'), 'file', 99_999)) ?? Buffer.alloc(0),
    (found) => {
      for (const bytes of found) {
        expect(bytes.length).toBeGreaterThanOrEqual(1000);
        expect(bytes.length).toBeLessThanOrEqual(9000);
        expect(bytes.subarray(0, 1000)).toEqual(Buffer.alloc(1000, 1));
        expect(bytes.subarray(1000).every((byte) => byte === 0 || byte === 2)).toBe(true);
      }
      const lengths = new Set(found.map((bytes) => bytes.length));
      const holes = found.filter((bytes) => hasHole(bytes.subarray(1000)));
      expect(lengths.size).toBeGreaterThan(1);
      expect(holes.length).toBeGreaterThan(0);
    },
  );

  suite.overSeeds(
    'a torn overwrite leaves each sector old or new',
    60,
    async (harness) => {
      await makeDurable(harness.disk, 'file', Buffer.alloc(8 * sectorBytes, 1));
      const file = await harness.disk.open('file', 'readWrite');
      await writeFully(file, [Buffer.alloc(6 * sectorBytes, 2)], sectorBytes);
      return (await readFile(await faultsOf(harness).crash('torn'), 'file', 99_999)) ?? Buffer.alloc(0);
    },
    (found) => {
      for (const bytes of found) {
        expect(bytes.length).toBe(8 * sectorBytes);
        for (let sector = 0; sector < 8; sector++) {
          const kinds = new Set(bytes.subarray(sector * sectorBytes, (sector + 1) * sectorBytes));
          expect([...kinds].every((byte) => byte === 1 || byte === 2)).toBe(true);
          if (sector === 0 || sector === 7) expect([...kinds]).toEqual([1]);
        }
      }
      const mixed = found.filter(
        (bytes) => bytes.includes(2) && bytes.indexOf(1, sectorBytes) < 7 * sectorBytes,
      );
      expect(mixed.length).toBeGreaterThan(0);
    },
  );
}

function nameCrashLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('a new name is durable only after its directory is synced', async (harness) => {
    const { disk } = harness;
    for (const path of ['named', 'nameless']) {
      const file = await disk.open(path, 'create');
      await writeFully(file, [Buffer.from('synced')], 0);
      await file.sync();
      if (path === 'named') await disk.syncDirectory('');
    }
    const after = await faultsOf(harness).crash('lost');
    expect(await after.list('')).toEqual(['named']);
    expect((await readFile(after, 'named', 99))?.toString()).toBe('synced');
  });

  suite.law('a removal is durable only after its directory is synced', async (harness) => {
    const { disk } = harness;
    await makeDurable(disk, 'first', Buffer.from('1'));
    await makeDurable(disk, 'second', Buffer.from('2'));
    await disk.remove('first');
    await disk.syncDirectory('');
    await disk.remove('second');
    const after = await faultsOf(harness).crash('lost');
    expect(await after.list('')).toEqual(['second']);
    expect((await readFile(after, 'second', 99))?.toString()).toBe('2');
  });

  suite.law('a rename is durable after its directory is synced', async (harness) => {
    const { disk } = harness;
    await makeDurable(disk, 'old', Buffer.from('old'));
    await makeDurable(disk, 'new', Buffer.from('new'));
    await disk.rename('new', 'old');
    await disk.syncDirectory('');
    const after = await faultsOf(harness).crash('lost');
    expect(await after.list('')).toEqual(['old']);
    expect((await readFile(after, 'old', 99))?.toString()).toBe('new');
  });

  suite.overSeeds(
    'a rename without a directory sync leaves the old file or the new one, never neither',
    40,
    async (harness) => {
      const { disk } = harness;
      await makeDurable(disk, 'target', Buffer.from('old'));
      await makeDurable(disk, 'beside', Buffer.from('new'));
      await disk.rename('beside', 'target');
      const after = await faultsOf(harness).crash('torn');
      return (await readFile(after, 'target', 99))?.toString() ?? 'neither';
    },
    (found) => expect([...new Set(found)].toSorted()).toEqual(['new', 'old']),
  );

  suite.law('a directory that was made survives with those above it', async (harness) => {
    await harness.disk.makeDirectory('one/two/three');
    const after = await faultsOf(harness).crash('lost');
    expect(await after.list('one/two')).toEqual(['three']);
  });

  suite.property(
    'a file under replacement is the old one or the new one, whole, whenever the crash comes',
    fc.record({ delayUs: fc.nat(20_000), unsynced: fc.constantFrom(...unsyncedKinds) }),
    60,
    async (harness, { delayUs, unsynced }) => {
      const old = Buffer.alloc(3000, 1);
      const fresh = Buffer.alloc(5000, 2);
      await replaceFile(harness.disk, 'file', old);
      const outcomes: unknown[] = [];
      void replaceFile(harness.disk, 'file', fresh).then(
        () => outcomes.push('done'),
        (error: unknown) => outcomes.push(error),
      );
      await sleep(harness.clock, delayUs);
      const done = outcomes.length > 0;
      const found = await readFile(await faultsOf(harness).crash(unsynced), 'file', 99_999);
      expect(found?.equals(fresh) === true || (!done && found?.equals(old) === true)).toBe(true);
      expect(outcomes).toEqual(done ? ['done'] : []);
    },
  );
}

function failureLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('what a failed sync covered is lost, whatever a later sync says', async (harness) => {
    const { disk } = harness;
    const faults = faultsOf(harness);
    await makeDurable(disk, 'file', Buffer.alloc(1000, 1));
    const file = await disk.open('file', 'readWrite');
    await writeFully(file, [Buffer.alloc(1000, 2)], 1000);
    faults.failNextSync('file');
    await expectFailure('fault', () => file.sync());
    await writeFully(file, [Buffer.alloc(1000, 3)], 2000);
    await file.sync();
    const found = (await readFile(await faults.crash('lost'), 'file', 9999)) ?? Buffer.alloc(0);
    expect(found.subarray(0, 1000)).toEqual(Buffer.alloc(1000, 1));
    expect(found.subarray(1000, 2000)).toEqual(Buffer.alloc(1000));
    expect(found.subarray(2000)).toEqual(Buffer.alloc(1000, 3));
  });

  suite.law('what a failed durable write wrote is lost, whatever a later sync says', async (harness) => {
    const { disk } = harness;
    const faults = faultsOf(harness);
    await makeDurable(disk, 'file', Buffer.alloc(1000, 1));
    const file = await disk.open('file', 'readWrite');
    faults.failNextSync('file');
    await expectFailure('fault', () => file.writeDurably([Buffer.alloc(1000, 2)], 1000));
    await file.sync();
    const found = (await readFile(await faults.crash('lost'), 'file', 9999)) ?? Buffer.alloc(0);
    expect(found.subarray(0, 1000)).toEqual(Buffer.alloc(1000, 1));
    expect(found.subarray(1000).equals(Buffer.alloc(found.length - 1000))).toBe(true);
  });

  suite.law('a full or failing disk says so and goes on', async (harness) => {
    const file = await harness.disk.open('file', 'create');
    const faults = faultsOf(harness);
    faults.failNextWrite('file', 'noSpace');
    await expectFailure('noSpace', () => file.writeAt([Buffer.from('x')], 0));
    faults.failNextWrite('file', 'fault');
    await expectFailure('fault', () => file.writeAt([Buffer.from('x')], 0));
    await writeFully(file, [Buffer.from('x')], 0);
    expect((await bytesAt(file, 0, 9)).toString()).toBe('x');
  });

  suite.law('short reads and writes move everything in the end', async (harness) => {
    const { disk } = harness;
    faultsOf(harness).limitTransfers(7);
    const bytes = Buffer.from(Array.from({ length: 500 }, (_, index) => index & 0xff));
    const file = await disk.open('file', 'create');
    expect(await file.writeAt([bytes], 0)).toBeLessThanOrEqual(7);
    const chunks = [bytes.subarray(0, 3), bytes.subarray(3, 3), bytes.subarray(3, 200), bytes.subarray(200)];
    expect(await writeFully(file, chunks, 0)).toBe(500);
    const into = Buffer.alloc(600);
    expect(await file.readAt(into, 0)).toBeLessThanOrEqual(7);
    expect(await readFully(file, into, 0)).toBe(500);
    expect(into.subarray(0, 500)).toEqual(bytes);
  });
}

/** Syncs 1000 bytes of 1, writes 8000 unsynced bytes of 2, then crashes. */
async function crashAfterAppend(harness: DiskHarness, unsynced: Unsynced): Promise<Disk> {
  await makeDurable(harness.disk, 'file', Buffer.alloc(1000, 1));
  const file = await harness.disk.open('file', 'readWrite');
  await writeFully(file, [Buffer.alloc(8000, 2)], 1000);
  return faultsOf(harness).crash(unsynced);
}

async function makeDurable(disk: Disk, path: string, bytes: Buffer): Promise<void> {
  await makeFile(disk, path, bytes);
  const file = await disk.open(path, 'readWrite');
  await file.sync();
  await file.close();
  await disk.syncDirectory('');
}

/** Whether a missing byte is followed by a present one. */
function hasHole(bytes: Buffer): boolean {
  const zeroAt = bytes.indexOf(0);
  return zeroAt >= 0 && bytes.indexOf(2, zeroAt) >= 0;
}

function faultsOf(harness: DiskHarness): DiskFaults {
  return present(harness.faults, 'the power to crash');
}
