import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../../engine/base/errors.ts';
import type { DiskImage } from '../../explore/journal-disk.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Batch, Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  storeDirectory,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const keyCount = 6;
const options = { ...smallOptions, segmentBytes: 100_000, merge: { ...smallOptions.merge, enabled: false } };

/** Values, an overwritten one, a removal, and a batch of several changes: one small segment. */
const batches: readonly Batch[] = [
  [{ key: 0, value: Buffer.from('zero') }],
  [{ key: 1, value: Buffer.from('one, to be replaced') }],
  [
    { key: 2, value: Buffer.from('two') },
    { key: 3, value: Buffer.from('three') },
    { key: 4, value: Buffer.from('four, to be removed') },
  ],
  [{ key: 1, value: Buffer.from('one') }],
  [
    { key: 4, value: undefined },
    { key: 0, value: Buffer.from('zero again') },
  ],
  [{ key: 2, value: Buffer.from('two again') }],
];
/** Per key all values that it ever had. */
const valuesEver = Array.from({ length: keyCount }, (_, at) => [
  'absent',
  ...batches.flatMap((batch) =>
    batch.flatMap(({ key, value }) => (key === at && value !== undefined ? [value.toString()] : [])),
  ),
]);
let doubtedCount = 0;
const twin = batches.reduce<Twin>(applyBatch, new Map());

/** The files of a store that took the batches; with `closed`, after a graceful stop. */
async function written(closed: boolean): Promise<DiskImage> {
  const disk = new JournalDisk();
  const store = await openStore(makeStoreHarness(disk, WorldRandom.root('flips')), options);
  for (const batch of batches) expect(await writeBatch(store, batch)).toBeUndefined();
  if (closed) await store.close();
  return disk.image();
}

/**
 * The answers of a store over these files for each key: its value, `absent`, or an error's code. What it has of a key
 * that it does not answer is an earlier value, which it does not answer later either.
 */
async function answers(image: DiskImage): Promise<readonly string[]> {
  try {
    const store = await openStore(
      makeStoreHarness(new JournalDisk(image), WorldRandom.root('flips again')),
      options,
    );
    const found: string[] = [];
    for (let key = 0; key < keyCount; key++) {
      const answer = await answerOf(() => store.get(keyNumber(key)));
      found.push(answer);
      if (answer !== 'Corrupted') continue;
      const doubted = await answerOf(() => store.getDoubted(keyNumber(key)));
      expect(valuesEver[key]).toContain(doubted);
      if (doubted !== 'absent') doubtedCount += 1;
      expect(await answerOf(() => store.get(keyNumber(key)))).toBe('Corrupted');
    }
    return found;
  } catch (error) {
    if (error instanceof LockstepError) return [error.code];
    throw error;
  }
}

async function answerOf(
  get: () => Uint8Array | undefined | Promise<Uint8Array | undefined>,
): Promise<string> {
  try {
    const value = await get();
    return value === undefined ? 'absent' : Buffer.from(value).toString();
  } catch (error) {
    if (error instanceof LockstepError) return error.code;
    throw error;
  }
}

function expected(): readonly string[] {
  return Array.from({ length: keyCount }, (_, key) => twin.get(key)?.toString() ?? 'absent');
}

function fileOf(image: DiskImage, ending: string): [string, Buffer] {
  const found = [...image].find(([path]) => path.startsWith(storeDirectory) && path.endsWith(ending));
  if (found === undefined) throw new Error(`no file ends with ${ending}`);
  return found;
}

/** Flips one bit of each byte of the file, and then zeroes each byte: every answer is correct or an error. */
async function expectNoLie(image: DiskImage, ending: string): Promise<number> {
  const [path, bytes] = fileOf(image, ending);
  let refusals = 0;
  for (let at = 0; at < bytes.length; at++) {
    for (const byte of [(bytes[at] ?? 0) ^ (1 << (at % 8)), 0]) {
      const rotten = Buffer.from(bytes);
      rotten[at] = byte;
      const found = await answers(new Map([...image, [path, rotten]]));
      found.forEach((answer, key) => {
        if (answer === 'Corrupted') refusals += 1;
        else expect([at, key, answer]).toEqual([at, key, expected()[key]]);
      });
    }
  }
  return refusals;
}

describe('a flipped byte', () => {
  it('of a sealed segment without a hint is never answered, at any place', async () => {
    const image = new Map(await written(true));
    image.delete(fileOf(image, '.hint')[0]);
    expect(await answers(image)).toEqual(expected());
    expect(await expectNoLie(image, '.log')).toBeGreaterThan(0);
  });

  it('of a sealed segment with a hint is never answered, at any place', async () => {
    const image = await written(true);
    expect(await answers(image)).toEqual(expected());
    expect(await expectNoLie(image, '.log')).toBeGreaterThan(0);
  });

  it('of a hint file changes no answer at all', async () => {
    expect(await expectNoLie(await written(true), '.hint')).toBe(0);
  });

  it('of the manifest changes no answer at all', async () => {
    const image = await written(true);
    const [path, bytes] = fileOf(image, 'MANIFEST');
    for (let at = 0; at < bytes.length; at += 7) {
      const rotten = Buffer.from(bytes);
      rotten[at] = (rotten[at] ?? 0) ^ 0x10;
      expect(await answers(new Map([...image, [path, rotten]]))).toEqual(expected());
    }
  });

  it('of the open segment, before what was synced last, is never answered', async () => {
    const image = await written(false);
    const [path, bytes] = fileOf(image, '.log');
    // The last group may look torn by a crash: only that group may be missing.
    const lastGroup = bytes.lastIndexOf('LGRP');
    for (let at = 0; at < lastGroup; at++) {
      const rotten = Buffer.from(bytes);
      rotten[at] = (rotten[at] ?? 0) ^ 0x01;
      const found = await answers(new Map([...image, [path, rotten]]));
      found.forEach((answer, key) => {
        if (answer !== 'Corrupted') expect([at, key, answer]).toEqual([at, key, expected()[key]]);
      });
    }
    expect(doubtedCount).toBeGreaterThan(0);
  });

  it('of a value costs that key alone, by name', async () => {
    const image = new Map(await written(true));
    image.delete(fileOf(image, '.hint')[0]);
    const [path, bytes] = fileOf(image, '.log');
    const rotten = Buffer.from(bytes);
    rotten[bytes.lastIndexOf('two again')] = 0;
    const found = await answers(new Map([...image, [path, rotten]]));
    expect(found).toEqual(expected().with(2, 'Corrupted'));
  });
});
