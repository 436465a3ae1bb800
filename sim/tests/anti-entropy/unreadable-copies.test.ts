/** Tests what clients see of a key whose copy on one node cannot be read. */
import { describe, expect, test } from 'vitest';

import { second, TreeHarness } from './tree-harness.ts';

const path = '/buckets/b/keys/k';
const value = 'x'.repeat(400);
/** The write must not happen if a value exists. */
const ifNothing = { 'If-None-Match': '*' };

/** All nodes have the key, and each of `names` a rotten copy; `meanwhile` is down during that. */
async function rottenAt(
  seed: string,
  names: readonly string[],
  meanwhile: (room: TreeHarness) => Promise<unknown> = () => Promise.resolve(),
): Promise<TreeHarness> {
  const room = new TreeHarness(seed, 3, { aae_enabled: false });
  await room.start();
  expect((await room.http('n1', 'PUT', `${path}?w=all`, value)).status).toBe(204);
  for (const name of names) {
    await room.stop(name);
    expect(room.rot(name, value)).toBe(true);
    await meanwhile(room);
    await room.start(name);
  }
  return room;
}

describe('a conditional put through a node whose copy has rotted', () => {
  test('is held against the copy of another replica', async () => {
    const room = await rottenAt('one rotten copy', ['n2']);
    const refused = await room.http('n2', 'PUT', path, 'other', 'http', ifNothing);
    expect(refused).toMatchObject({ status: 412 });
    expect(await room.http('n1', 'GET', `${path}?r=quorum`)).toEqual({ status: 200, body: value });
    expect(room.world.failures).toEqual([]);
  });

  test('is written by another replica, and heals the copy', async () => {
    const room = await rottenAt('a tombstone', ['n2'], (at) => at.http('n1', 'DELETE', `${path}?w=quorum`));
    const written = await room.http('n2', 'PUT', `${path}?w=all`, 'new', 'http', ifNothing);
    expect(written).toMatchObject({ status: 204 });
    // The write is done; what the copy lacked besides is fetched from the others then.
    await room.pass(second / 10);
    expect(await room.http('n2', 'GET', `${path}?r=all`)).toEqual({ status: 200, body: 'new' });
  });

  test('is refused, and certainly not done, where no copy can be read', async () => {
    const room = await rottenAt('all copies rotten', ['n1', 'n2', 'n3']);
    const refused = await room.http('n2', 'PUT', path, 'other', 'http', ifNothing);
    expect(refused.status).toBe(500);
    expect(refused.body).toContain('cannot be read');
  });
});
