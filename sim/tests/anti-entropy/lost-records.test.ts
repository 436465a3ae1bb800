/** Tests for how long reads doubt the keys of a node whose log has lost records of unknown keys. */
import { describe, expect, test } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { TreeHarness } from './tree-harness.ts';

const keyCount = 30;
const second = 1_000_000;

/** Puts keys through n1 and kills a node; a group of records in the middle of its log is unreadable then. */
async function killedWithDamage(racks: number, victim: string, aaeEnabled: boolean): Promise<TreeHarness> {
  const room = new TreeHarness(`${racks} racks`, racks, {
    aae_enabled: aaeEnabled,
    aae_full_sweep_interval_seconds: 86_400,
  });
  await room.start();
  await room.put('n1', 'k', keyCount, 'some value ');
  const { cluster } = room;
  cluster.crash(victim, 'keepAll', 'silent');
  const { disk } = cluster.host(victim);
  const logs = [...disk.durableFiles()].filter(([path]) => /^store\/\d+\.log$/.test(path));
  const [path, content] = present(
    logs.find(([, bytes]) => bytes.includes('some value 15')),
    'the log',
  );
  const at = content.indexOf('some value 15');
  for (let back = 0; back < 120; back += 4) expect(disk.rot(path, at - back, 2)).toBe(true);
  return room;
}

/** How many keys each status answers, through the node. */
async function statuses(room: TreeHarness, node: string, query: string): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let index = 0; index < keyCount; index++) {
    const { status } = await room.http(node, 'GET', `/buckets/b/keys/k${index}${query}`);
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

describe('a node whose log lost records of unknown keys', () => {
  test.each([true, false])(
    'serves its other keys where it holds the only copies (anti-entropy: %s)',
    async (on) => {
      const room = await killedWithDamage(1, 'n1', on);
      await room.start('n1');
      await room.pass(5 * second);
      const counts = await statuses(room, 'n1', '');
      expect(Object.keys(counts)).toEqual(['200', '404']);
      expect(counts[200]).toBeGreaterThan(keyCount - 4);
      expect(room.world.failures).toEqual([]);
    },
  );

  test('waits for the replicas that are down, and then doubts no key any more', async () => {
    const room = await killedWithDamage(3, 'n1', true);
    for (const name of ['n2', 'n3']) await room.stop(name);
    room.cluster.start('n1');
    await room.pass(10 * second);
    await room.start('n2', 'n3');
    await room.pass(20 * second);
    for (const name of ['n2', 'n3']) await room.stop(name);
    expect(await statuses(room, 'n1', '?r=1')).toEqual({ 200: keyCount });
    expect(room.world.failures).toEqual([]);
  });
});
