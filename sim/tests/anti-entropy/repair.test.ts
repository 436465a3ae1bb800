/** Tests that replicas find and repair differences by themselves, and count them exactly. */
import { describe, expect, test } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { TreeHarness, second } from './tree-harness.ts';
import type { Dump } from './tree-harness.ts';
import type { HostDisk } from '../../world/disk/disk.ts';

const divergent = 'aae_exchange_divergent_keys_total';
const repaired = 'aae_repair_dispatched_total';

/** The peers as `GET /aae` shows them. */
interface Peers {
  readonly peers: readonly {
    readonly peer: string;
    readonly peer_idx: number;
    readonly last_sweep_seconds: number;
  }[];
}

async function sum(room: TreeHarness, family: string): Promise<number> {
  let total = 0;
  for (const name of room.cluster.names) total += await room.count(name, family);
  return total;
}

function expectEqual(dumps: readonly Dump[], keys: number): void {
  for (const dump of dumps) {
    expect(dump.size).toBe(keys);
    expect([...dump]).toEqual([...(dumps[0] ?? [])]);
  }
}

/** The first segment of the store on a disk. */
function logOf(disk: HostDisk): string {
  const names = [...disk.durableFiles().keys()];
  return present(
    names.find((name) => /^store[/]\d+[.]log$/.test(name)),
    'a segment of the store',
  );
}

describe('a replica', () => {
  test('that lost its disk reads it back from both others, and leaves nothing to repair', async () => {
    const room = new TreeHarness('wiped', 3);
    await room.start();
    await room.put('n1', 'k', 200);
    await room.pass(3 * second);
    const before = [await sum(room, divergent), await sum(room, repaired)];
    await room.stop('n3');
    room.cluster.host('n3').disk.wipe();
    await room.start('n3');
    await room.pass(20 * second);
    expect([await sum(room, divergent), await sum(room, repaired)]).toEqual(before);
    expect(await room.count('n3', 'svc_transfer_keys_total')).toBe(2 * 200);
    expectEqual(await room.dumps(), 200);
    expect(room.world.failures).toEqual([]);
  });

  test('that missed writes gets them, and one that missed nothing causes no repair', async () => {
    const room = new TreeHarness('missed', 3);
    await room.start();
    await room.put('n1', 'before', 40);
    await room.stop('n2');
    await room.put('n1', 'after', 30);
    await room.put('n1', 'before', 10, 'changed');
    await room.start('n2');
    await room.pass(20 * second);
    expect(await sum(room, divergent)).toBe(40);
    expect(await sum(room, repaired)).toBe(40);
    await room.pass(30 * second);
    expect(await sum(room, repaired)).toBe(40);
    expect(await room.count('n1', 'aae_exchange_success_total')).toBeGreaterThan(20);
    expectEqual(await room.dumps(), 70);
  });

  test('with concurrent writes to both sides of a cut ends with the same siblings as the others', async () => {
    const room = new TreeHarness('siblings', 2, { bucket_types: { siblings: { allow_mult: true } } });
    await room.start();
    const cut = room.world.network.partition(['n1'], ['n2']);
    await room.http('n1', 'PUT', '/types/siblings/buckets/b/keys/k', 'left');
    await room.http('n2', 'PUT', '/types/siblings/buckets/b/keys/k', 'right');
    // The reset loses what waits in the connections; otherwise each side would receive the other's write after all.
    room.world.network.reset('n1', 'n2');
    cut.lift();
    await room.pass(15 * second);
    expect((await room.http('n1', 'GET', '/types/siblings/buckets/b/keys/k')).status).toBe(300);
    expect(await sum(room, repaired)).toBe(1);
    expectEqual(await room.dumps(), 1);
  });

  test('that missed a deletion does not bring the object back', async () => {
    const room = new TreeHarness('deletion', 3);
    await room.start();
    await room.put('n1', 'k', 5);
    await room.stop('n3');
    for (let index = 0; index < 5; index++) await room.http('n1', 'DELETE', `/buckets/b/keys/k${index}`);
    await room.start('n3');
    await room.pass(15 * second);
    for (const name of ['n1', 'n2', 'n3']) {
      expect((await room.http(name, 'GET', '/buckets/b/keys/k2')).status).toBe(404);
    }
    expectEqual(await room.dumps(), 5);
  });

  test('shares only the arcs that both nodes own', async () => {
    const room = new TreeHarness('shared arcs', 2, {}, 2);
    await room.start();
    await room.put('n1', 'k', 120);
    await room.stop('n4');
    await room.put('n1', 'late', 120);
    await room.start('n4');
    await room.pass(30 * second);
    const dumps = await room.dumps();
    // Racks r1 (n1, n3) and r2 (n2, n4) hold one copy of everything each.
    const sides = [
      [0, 2],
      [1, 3],
    ].map((members) => members.flatMap((member) => [...(dumps[member] ?? [])]).sort());
    expect(sides[0]).toHaveLength(240);
    expect(sides[1]).toEqual(sides[0]);
  });
});

describe('an exchange', () => {
  test('that is cut midway goes on where it was, and repairs each key once', async () => {
    const room = new TreeHarness('cut', 2, { aae_throttle: 400 });
    await room.start();
    await room.stop('n2');
    await room.put('n1', 'k', 600);
    await room.start('n2');
    for (let round = 0; round < 6; round++) {
      await room.pass(0.7 * second);
      const cut = room.world.network.partition(['n1'], ['n2']);
      await room.pass(0.3 * second);
      cut.lift();
    }
    await room.pass(60 * second);
    expect(await sum(room, repaired)).toBeGreaterThanOrEqual(600);
    expectEqual(await room.dumps(), 600);
  });

  test('finds a value that has rotted on one disk, at the next full sweep', async () => {
    const room = new TreeHarness('rot', 3);
    await room.start();
    await room.put('n1', 'k', 50, 'x'.repeat(400));
    await room.pass(3 * second);
    const { disk } = room.cluster.host('n2');
    await room.stop('n2');
    await room.start('n2');
    const path = logOf(disk);
    expect(disk.rot(path, 3_000, 3)).toBe(true);
    expect((await room.http('n2', 'POST', '/aae/sweep')).status).toBe(202);
    await room.pass(15 * second);
    expect(await sum(room, repaired)).toBe(1);
    expect(await room.count('n2', 'aae_full_sweep_last_completed_seconds_gauge')).toBeGreaterThan(0);
    expectEqual(await room.dumps(), 50);
  });
});

describe('a full sweep', () => {
  test('finds what has rotted under a value that is still in memory', async () => {
    const room = new TreeHarness('rot under the cache', 3);
    await room.start();
    await room.put('n1', 'k', 40, 'x'.repeat(400));
    await room.pass(3 * second);
    const { disk } = room.cluster.host('n2');
    const value = present(disk.durableFiles().get(logOf(disk)), 'the log').indexOf('x'.repeat(400), 9_000);
    expect(disk.rot(logOf(disk), value, 3)).toBe(true);
    expect((await room.http('n2', 'POST', '/aae/sweep')).status).toBe(202);
    await room.pass(10 * second);
    expect(await sum(room, repaired)).toBe(1);
    expect(await room.count('n2', 'svc_aae_tree_verify_failures_total')).toBe(0);
    await room.stop('n2');
    await room.start('n2');
    expectEqual(await room.dumps(), 40);
  });
});

describe('the instant of the last full sweep', () => {
  test('is counted of each peer that it was completed with, and of no other', async () => {
    const room = new TreeHarness('away', 3);
    await room.start();
    await room.put('n1', 'k', 10);
    await room.pass(3 * second);
    // n2 does not know yet that its links are down, so it tries an exchange.
    room.world.network.partition(['n2'], ['n3']);
    const earliest = Math.floor(room.cluster.host('n2').io.clock.wallMs() / 1000);
    expect((await room.http('n2', 'POST', '/aae/sweep')).status).toBe(202);
    await room.pass(10 * second);
    const { peers } = JSON.parse((await room.http('n2', 'GET', '/aae')).body) as Peers;
    const counted = await room.samples('n2', 'aae_full_sweep_last_completed_seconds_gauge');
    const seconds = peers.map(({ peer, peer_idx, last_sweep_seconds }) => {
      const gauge = counted.find(({ labels }) => labels.get('peer_idx') === String(peer_idx));
      expect(gauge?.value ?? 0, peer).toBe(last_sweep_seconds);
      return [peer, last_sweep_seconds >= earliest ? 'swept' : last_sweep_seconds];
    });
    expect(seconds).toEqual([
      ['n1', 'swept'],
      ['n3', 0],
    ]);
  });
});

describe('an operator', () => {
  test('sees the peers, and may begin one sweep at a time', async () => {
    const room = new TreeHarness('operator', 2);
    await room.start();
    await room.put('n1', 'k', 3);
    await room.pass(4 * second);
    const status: unknown = JSON.parse((await room.http('n1', 'GET', '/aae')).body);
    expect(status).toMatchObject({
      segments: 256,
      dirty_segments: 0,
      sweep: 'none',
      peers: [{ peer: 'n2', rack: 'r2', shared_segments: 256, last_exchange_outcome: 'finished' }],
    });
    room.world.network.partition(['n1'], ['n2']);
    const first = await room.http('n1', 'POST', '/aae/sweep');
    const again = await room.http('n1', 'POST', '/aae/sweep');
    expect([first.status, again.status]).toEqual([202, 409]);
    expect(again.body).toContain('"code":"Conflict"');
  });

  test('who switched anti-entropy off receives an error that says so', async () => {
    const room = new TreeHarness('off', 1, { aae_enabled: false });
    await room.start();
    const answer = await room.http('n1', 'GET', '/aae');
    expect(answer.status).toBe(404);
    expect(answer.body).toContain('aae_enabled');
  });
});
