/**
 * The laws of the disk port (`disk.ts`) about files, names and locks, for both implementations. The laws about crashes
 * and failing disks are in `disk-crash.contract.ts`.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { crashLaws } from './disk-crash.contract.ts';
import type { DiskHarness } from './disk-harness.fixture.ts';
import { bytesAt, expectFailure, makeFile } from './disk-harness.fixture.ts';
import { DiskError, readFile, replaceFile, writeFully, writeFullyDurably } from './disk.ts';
import type { LawRegister, MakeHarness, Skips } from './law.contract.ts';
import { contract } from './law.contract.ts';

export function diskContract(name: string, makeHarness: MakeHarness<DiskHarness>, skips: Skips = {}): void {
  contract(`disk: ${name}`, makeHarness, skips, (suite) => {
    fileLaws(suite);
    openLaws(suite);
    nameLaws(suite);
    lockLaws(suite);
    wholeFileLaws(suite);
    crashLaws(suite);
  });
}

type FileStep =
  | {
      readonly kind: 'write';
      readonly offset: number;
      readonly sizes: readonly number[];
      readonly fill: number;
    }
  | { readonly kind: 'truncate'; readonly length: number }
  | { readonly kind: 'read'; readonly offset: number; readonly length: number }
  | { readonly kind: 'reopen' };

const fileSteps: fc.Arbitrary<FileStep[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('write' as const),
      offset: fc.nat(5000),
      sizes: fc.array(fc.nat(1200), { minLength: 1, maxLength: 4 }),
      fill: fc.integer({ min: 1, max: 255 }),
    }),
    fc.record({ kind: fc.constant('truncate' as const), length: fc.nat(6000) }),
    fc.record({ kind: fc.constant('read' as const), offset: fc.nat(7000), length: fc.nat(3000) }),
    fc.record({ kind: fc.constant('reopen' as const) }),
  ),
  { maxLength: 25 },
);

function fileLaws(suite: LawRegister<DiskHarness>): void {
  suite.property(
    'a file holds what was written, as an array of bytes would',
    fileSteps,
    40,
    async ({ disk }, steps) => {
      let model = Buffer.alloc(0);
      let file = await disk.open('file', 'create');
      for (const step of steps) {
        if (step.kind === 'reopen') {
          await file.close();
          file = await disk.open('file', 'readWrite');
        } else if (step.kind === 'read') {
          const expected = model.subarray(step.offset, step.offset + step.length);
          expect(await bytesAt(file, step.offset, step.length)).toEqual(expected);
        } else if (step.kind === 'truncate') {
          await file.truncate(step.length);
          model = resized(model, step.length);
        } else {
          const chunks = step.sizes.map((size, index) => Buffer.alloc(size, step.fill + index));
          const bytes = Buffer.concat(chunks);
          await writeFully(file, chunks, step.offset);
          if (bytes.length > 0) model = resized(model, Math.max(model.length, step.offset + bytes.length));
          bytes.copy(model, step.offset);
        }
        expect(await file.size()).toBe(model.length);
      }
      expect(await bytesAt(file, 0, 10_000)).toEqual(model);
      await file.close();
      expect(await disk.size('file')).toBe(model.length);
    },
  );

  suite.law('thousands of chunks are written as one run', async ({ disk }) => {
    const chunks = Array.from({ length: 3000 }, (_, index) => Buffer.from([index & 0xff, index >>> 8]));
    const file = await disk.open('file', 'create');
    expect(await writeFully(file, chunks, 7)).toBe(6000);
    expect(await bytesAt(file, 7, 6000)).toEqual(Buffer.concat(chunks));
    await file.close();
  });

  suite.law('writes to distinct places may be under way at once', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    const parts = Array.from({ length: 16 }, (_, index) => Buffer.alloc(1000, index + 1));
    await Promise.all(parts.map((part, index) => writeFully(file, [part], index * 1000)));
    expect(await bytesAt(file, 0, 16_000)).toEqual(Buffer.concat(parts));
    await file.close();
  });

  suite.law('durable writes to distinct places may be under way at once', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    const parts = Array.from({ length: 8 }, (_, index) => Buffer.alloc(1000, index + 1));
    for (let round = 0; round < 3; round++) {
      const halves = parts.map((part) => [part.subarray(0, 300), part.subarray(300)]);
      await Promise.all(
        halves.map((chunks, index) => writeFullyDurably(file, chunks, round * 100 + index * 1000)),
      );
      expect(await bytesAt(file, round * 100, 8000)).toEqual(Buffer.concat(parts));
    }
    expect(await file.writeDurably([], 0)).toBe(0);
    await file.close();
  });

  suite.law('a file that was renamed, replaced or removed still takes durable writes', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    await disk.rename('file', 'elsewhere');
    await makeFile(disk, 'file', 'another');
    const both = [
      writeFullyDurably(file, [Buffer.from('ab')], 0),
      writeFullyDurably(file, [Buffer.from('cd')], 2),
    ];
    await Promise.all(both);
    expect((await readFile(disk, 'elsewhere', 99))?.toString()).toBe('abcd');
    expect((await readFile(disk, 'file', 99))?.toString()).toBe('another');
    await disk.remove('elsewhere');
    await writeFullyDurably(file, [Buffer.from('ef')], 4);
    expect((await bytesAt(file, 0, 9)).toString()).toBe('abcdef');
    await file.close();
  });

  suite.law('reading at or past the end gives nothing', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    await writeFully(file, [Buffer.from('abc')], 0);
    expect(await file.readAt(new Uint8Array(8), 3)).toBe(0);
    expect(await file.readAt(new Uint8Array(8), 4000)).toBe(0);
    expect(await file.readAt(new Uint8Array(0), 0)).toBe(0);
    await file.close();
  });

  suite.law('sync resolves on a file with and without changes', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    await file.sync();
    await writeFully(file, [Buffer.from('abc')], 0);
    await file.sync();
    await file.sync();
    expect((await bytesAt(file, 0, 9)).toString()).toBe('abc');
    await file.close();
  });

  suite.law('a closed file refuses every call but close', async ({ disk }) => {
    const file = await disk.open('file', 'create');
    const underWay = writeFully(file, [Buffer.from('abc')], 0);
    await underWay;
    await file.close();
    await file.close();
    const calls = [
      () => file.size(),
      () => file.readAt(new Uint8Array(1), 0),
      () => file.writeAt([Buffer.from('x')], 0),
      () => file.writeDurably([Buffer.from('x')], 0),
      () => file.sync(),
      () => file.truncate(0),
    ];
    for (const call of calls) await expectFailure('closed', call);
    expect((await readFile(disk, 'file', 10))?.toString()).toBe('abc');
  });
}

function openLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('read, readWrite and create treat existing and absent files as documented', async ({ disk }) => {
    await expectFailure('notFound', () => disk.open('file', 'read'));
    const created = await disk.open('file', 'create');
    await writeFully(created, [Buffer.from('kept')], 0);
    await created.close();
    await expectFailure('exists', () => disk.open('file', 'create'));
    const again = await disk.open('file', 'readWrite');
    expect((await bytesAt(again, 0, 9)).toString()).toBe('kept');
    await again.close();
    const fresh = await disk.open('fresh', 'readWrite');
    expect(await fresh.size()).toBe(0);
    await fresh.close();
  });

  suite.law('a file opened for reading cannot be changed', async ({ disk }) => {
    await makeFile(disk, 'file', 'kept');
    const file = await disk.open('file', 'read');
    await expectFailure('invalid', () => file.writeAt([Buffer.from('x')], 0));
    await expectFailure('invalid', () => file.writeDurably([Buffer.from('x')], 0));
    await expectFailure('invalid', () => file.truncate(0));
    expect((await bytesAt(file, 0, 9)).toString()).toBe('kept');
    await file.close();
  });

  suite.law('a failure names the operation and the path', async ({ disk }) => {
    const error = await disk.open('absent', 'read').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DiskError);
    expect(error).toMatchObject({ failure: 'notFound', operation: 'open', path: 'absent' });
  });

  const outside = ['..', '../x', 'a/../b', 'a/..', '/etc', '/', './x', 'a//b', 'a/', 'nul\0byte'];
  suite.law('paths that leave the data directory or have two spellings are refused', async ({ disk }) => {
    await disk.makeDirectory('a');
    for (const path of outside) {
      await expectFailure('invalid', () => disk.open(path, 'readWrite'));
      await expectFailure('invalid', () => disk.rename(path, 'x'));
      await expectFailure('invalid', () => disk.rename('x', path));
      await expectFailure('invalid', () => disk.remove(path));
      await expectFailure('invalid', () => disk.list(path));
      await expectFailure('invalid', () => disk.makeDirectory(path));
      await expectFailure('invalid', () => disk.syncDirectory(path));
      await expectFailure('invalid', () => disk.size(path));
      await expectFailure('invalid', () => disk.lock(path));
    }
    expect(await disk.list('')).toEqual(['a']);
  });
}

function nameLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('list gives the names of files and directories, sorted by code unit', async ({ disk }) => {
    const names = ['b', 'a', 'B', '10', '9', 'a.new', '_', 'Z'];
    await disk.makeDirectory('d');
    for (const name of names) await makeFile(disk, `d/${name}`, name);
    await disk.makeDirectory('d/c/deeper');
    expect(await disk.list('d')).toEqual([...names, 'c'].toSorted());
    expect(await disk.list('')).toEqual(['d']);
    expect(await disk.list('d/c/deeper')).toEqual([]);
    await expectFailure('notFound', () => disk.list('nowhere'));
  });

  suite.law('a directory is made with those above it, and making it again is harmless', async ({ disk }) => {
    await disk.makeDirectory('one/two/three');
    await disk.makeDirectory('one/two/three');
    await disk.makeDirectory('one');
    await disk.makeDirectory('');
    await makeFile(disk, 'one/two/three/file', 'x');
    expect(await disk.list('one/two')).toEqual(['three']);
    await disk.syncDirectory('one/two');
    await disk.syncDirectory('');
    await expectFailure('notFound', () => disk.syncDirectory('elsewhere'));
    await expectFailure('notFound', () => disk.open('elsewhere/file', 'create'));
  });

  suite.law('a rename replaces its target whole', async ({ disk }) => {
    await makeFile(disk, 'old', 'old bytes that are longer');
    await makeFile(disk, 'new', 'new');
    await disk.rename('new', 'old');
    expect(await disk.list('')).toEqual(['old']);
    expect((await readFile(disk, 'old', 99))?.toString()).toBe('new');
    await expectFailure('notFound', () => disk.rename('new', 'old'));
    expect((await readFile(disk, 'old', 99))?.toString()).toBe('new');
  });

  suite.law('a renamed file stays open, under its new name', async ({ disk }) => {
    const file = await disk.open('here', 'create');
    await disk.makeDirectory('d');
    await disk.rename('here', 'd/there');
    await writeFully(file, [Buffer.from('moved')], 0);
    await file.sync();
    await file.close();
    expect((await readFile(disk, 'd/there', 99))?.toString()).toBe('moved');
  });

  suite.law('a removed file is gone', async ({ disk }) => {
    await makeFile(disk, 'file', 'x');
    await disk.remove('file');
    expect(await disk.size('file')).toBe(undefined);
    expect(await disk.list('')).toEqual([]);
    await expectFailure('notFound', () => disk.remove('file'));
  });

  suite.law('size is undefined for an absent file', async ({ disk }) => {
    await makeFile(disk, 'file', 'four');
    expect(await disk.size('file')).toBe(4);
    expect(await disk.size('none')).toBe(undefined);
    expect(await disk.size('nowhere/none')).toBe(undefined);
  });
}

function lockLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('a lock has one holder, and released it can be taken again', async ({ disk }) => {
    const held = await disk.lock('lock');
    await expectFailure('locked', () => disk.lock('lock'));
    await expectFailure('locked', () => disk.lock('lock'));
    const other = await disk.lock('other');
    await held.release();
    await held.release();
    const again = await disk.lock('lock');
    await expectFailure('locked', () => disk.lock('lock'));
    await again.release();
    await other.release();
  });

  suite.law('of many concurrent attempts to take a lock at most one succeeds', async ({ disk }) => {
    const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => disk.lock('lock')));
    const held = attempts.filter((attempt) => attempt.status === 'fulfilled');
    expect(held.length).toBeLessThanOrEqual(1);
    for (const attempt of held) await attempt.value.release();
    const after = await disk.lock('lock');
    await after.release();
  });

  suite.law('the death of its holder releases a lock', async (harness) => {
    const disk = await harness.dieHolding('lock');
    const held = await disk.lock('lock');
    await expectFailure('locked', () => disk.lock('lock'));
    await held.release();
  });
}

function wholeFileLaws(suite: LawRegister<DiskHarness>): void {
  suite.law('a replaced file reads back whole, and no temporary file remains', async ({ disk }) => {
    await disk.makeDirectory('d');
    for (const text of ['first', 'the second, longer', '3']) {
      await replaceFile(disk, 'd/file', Buffer.from(text));
      expect((await readFile(disk, 'd/file', 99))?.toString()).toBe(text);
      expect(await disk.list('d')).toEqual(['file']);
    }
  });

  suite.law('reading a whole file is bounded, and an absent file is undefined', async ({ disk }) => {
    await makeFile(disk, 'file', 'ten bytes!');
    expect((await readFile(disk, 'file', 10))?.length).toBe(10);
    await expectFailure('invalid', () => readFile(disk, 'file', 9));
    expect(await readFile(disk, 'none', 10)).toBe(undefined);
  });
}

function resized(bytes: Buffer, length: number): Buffer<ArrayBuffer> {
  const grown = Buffer.alloc(length);
  bytes.copy(grown, 0, 0, length);
  return grown;
}
