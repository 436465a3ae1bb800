import { expect, it } from 'vitest';

import type { Token } from '../../../engine/base/ids.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  tokenNumber,
} from '../../explore/store-harness.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import { WorldRandom } from '../../world/core/random.ts';

const rounds = 40;
const writers = 20;

it('a writer that is answered reads what it has written in the same instant, by every way of reading', async () => {
  const store = await openStore(
    makeStoreHarness(new JournalDisk(), WorldRandom.root('answered')),
    smallOptions,
  );
  let answered = 0;
  const missed: string[] = [];
  const write = (writer: number, round: number): void => {
    const key = keyNumber(writer * rounds + round);
    const token = tokenNumber(writer * rounds + round);
    const value = Buffer.from(`value ${writer} ${round}`);
    const ways: Readonly<Record<string, () => boolean>> = {
      get: () => value.equals((store.get(key) as Uint8Array | undefined) ?? Buffer.alloc(0)),
      tokenOf: () => store.tokenOf(key) === token,
      keyCount: () => store.keyCount >= answered,
      keys: () => [...store.keys()].includes(key),
      'fingerprints.keyCount': () => store.fingerprints.keyCount >= answered,
      'fingerprints.lastSeq': () => store.fingerprints.lastSeq >= answered,
      figures: () => store.figures.keyCount >= answered,
      keysOfTokens: () => [...store.keysOfTokens((token - 1) as Token, token)].includes(key),
    };
    const names = Object.keys(ways);
    store.write([{ key, token, value }], (error) => {
      answered += 1;
      // Each writer's rounds begin with another way of reading.
      const name = names[(writer + round) % names.length] ?? 'get';
      if (error !== undefined || ways[name]?.() !== true) missed.push(name);
      if (round + 1 < rounds) write(writer, round + 1);
    });
  };
  for (let writer = 0; writer < writers; writer++) write(writer, 0);
  await store.settle();
  expect(missed).toEqual([]);
  expect(answered).toBe(writers * rounds);
  expect(store.keyCount).toBe(writers * rounds);
  await store.close();
});
