import { expect, it } from 'vitest';

import { sleep } from '../../engine/io/clock.ts';
import { worldHarness } from '../world/core/world-harness.fixture.ts';
import { World } from '../world/world.ts';
import { followUnsyncedNames } from './unsynced-names.ts';

/** What a crash 50 ms after the rename of `store/a.new` to `store/a` finds not durable. */
async function foundAfter(syncsDirectory: boolean, waitMs = 50): Promise<readonly string[]> {
  const world = new World({ seed: 1 });
  const found: string[] = [];
  followUnsyncedNames(world, (host, name) => found.push(`${host} ${name}`));
  const host = world.addHost('n1');
  const { disk, clock } = host.boot();
  const work = async (): Promise<void> => {
    await disk.makeDirectory('store');
    const file = await disk.open('store/a.new', 'readWrite');
    await file.sync();
    await disk.rename('store/a.new', 'store/a');
    if (syncsDirectory) await disk.syncDirectory('store');
    await sleep(clock, waitMs * 1000);
  };
  await worldHarness(world, clock).settle(work());
  host.crash('dropAll');
  return found;
}

it('a name is not durable until its directory is synced', async () => {
  expect(await foundAfter(true)).toEqual([]);
  expect(await foundAfter(false)).toEqual(['n1 store/a']);
});

it('a rename under way is none that was left undone', async () => {
  expect(await foundAfter(false, 1)).toEqual([]);
});
