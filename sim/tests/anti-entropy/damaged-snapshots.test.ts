/**
 * Damages one small snapshot in every way, on a whole node: flips each byte, and cuts it to each length. The next
 * incarnation must reject it for the right reason, count it once, derive the tree anew, and serve. Also crashes the
 * node at every step of saving a snapshot: the next incarnation must find the old or the new one, never anything else.
 */
import { expect, test } from 'vitest';

import { present } from '../../../engine/base/assert.ts';
import { rejectedPath, snapshotPath } from '../../../engine/anti-entropy/snapshot.ts';
import { TreeHarness, second } from './tree-harness.ts';

/** A single node with a small tree. */
const settings = { aae_segments: 16, aae_snapshot_interval_seconds: 1 };

interface Start {
  readonly reasons: readonly unknown[];
  readonly rejections: number;
  readonly loads: number;
}

/** Starts the node with what lies on its disk, reads its metrics, and crashes it. */
async function startOver(room: TreeHarness): Promise<Start> {
  const reasons: unknown[] = [];
  const hearing = room.world.trace.on('aae.snapshot.rejected', ({ fields }) =>
    reasons.push(fields['reason']),
  );
  room.cluster.start('n1');
  expect(await room.until(() => room.cluster.serves('n1'), 10 * second)).toBe(true);
  hearing.cancel();
  const start = {
    reasons,
    rejections: room.countNow('n1', 'aae_snapshot_corruption_total'),
    loads: room.countNow('n1', 'aae_snapshot_load_total'),
  };
  room.cluster.crash('n1', 'keepAll', 'reset');
  return start;
}

async function roomWithSnapshot(
  name: string,
): Promise<{ readonly room: TreeHarness; readonly snapshot: Buffer }> {
  const room = new TreeHarness(name, 1, settings);
  await room.start();
  await room.put('n1', 'k', 3);
  expect((await room.http('n1', 'POST', '/aae/sweep')).status).toBe(202);
  await room.pass(3 * second);
  await room.stop('n1');
  const { disk } = room.cluster.host('n1');
  return { room, snapshot: Buffer.from(present(disk.durableFiles().get(snapshotPath), 'a snapshot')) };
}

test('a snapshot with any byte flipped, or cut to any length, is rejected once as Corrupted, and the node serves', async () => {
  const { room, snapshot } = await roomWithSnapshot('every damage');
  const { disk } = room.cluster.host('n1');
  const copy = disk.copy();
  const place = (bytes: Buffer): void => {
    disk.restore({ ...copy, files: new Map(copy.files).set(snapshotPath, bytes) });
  };
  const refused = { reasons: ['Corrupted'], rejections: 1, loads: 0 };
  for (let at = 0; at < snapshot.length; at++) {
    const flipped = Buffer.from(snapshot);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
    place(flipped);
    expect([at, await startOver(room)]).toEqual([at, refused]);
    expect(disk.durableFiles().get(rejectedPath)?.equals(flipped)).toBe(true);
  }
  for (let length = 0; length < snapshot.length; length++) {
    place(snapshot.subarray(0, length));
    expect([length, await startOver(room)]).toEqual([length, refused]);
  }
  place(snapshot);
  expect(await startOver(room)).toEqual({ reasons: [], rejections: 0, loads: 1 });
  // The rejected snapshots left nothing behind: the trees were derived anew each time.
  place(snapshot.subarray(1));
  await room.start('n1');
  await room.pass(3 * second);
  await room.stop('n1');
  const saved = disk.durableFiles().get(snapshotPath);
  expect(saved?.subarray(0, 12).toString('hex')).toBe(snapshot.subarray(0, 12).toString('hex'));
});

test('a crash at any step of saving leaves the snapshot before or after it', async () => {
  const { room } = await roomWithSnapshot('crashes while saving');
  const { disk } = room.cluster.host('n1');
  const copy = disk.copy();
  let steps = 0;
  for (const survival of ['dropAll', 'keepAll', 'subset'] as const) {
    for (let nth = 1; ; nth++) {
      disk.restore(copy);
      await room.start('n1');
      await room.put('n1', 'later', 2);
      if (!(await crashWhileSaving(room, nth, survival))) break;
      steps += 1;
      expect([survival, nth, await startOver(room)]).toEqual([
        survival,
        nth,
        { reasons: [], rejections: 0, loads: 1 },
      ]);
    }
    if (room.cluster.isUp('n1')) room.cluster.crash('n1', 'keepAll', 'reset');
  }
  // Opening, emptying, writing and syncing the new file, its name, and the directory's names, thrice.
  expect(steps).toBeGreaterThanOrEqual(15);
});

/**
 * Stops the node gracefully, and crashes it right after the nth operation of its disk on its tree's files. Returns
 * false if there is no such operation.
 */
async function crashWhileSaving(
  room: TreeHarness,
  nth: number,
  survival: 'dropAll' | 'keepAll' | 'subset',
): Promise<boolean> {
  let seen = 0;
  let saving = false;
  let struck = false;
  const hearing = room.world.trace.on('*', ({ host, name, fields }) => {
    if (host !== 'n1' || struck || !name.startsWith('disk.')) return;
    saving ||= Object.values(fields).some((value) => String(value).startsWith('aae'));
    if (!saving) return;
    seen += 1;
    struck = seen === nth;
    if (struck) room.cluster.crash('n1', survival, 'silent');
  });
  const done = room.world.trace.on('aae.snapshot.saved', () => hearing.cancel());
  room.cluster.beginStop('n1', () => undefined);
  await room.until(() => !room.cluster.isUp('n1'), 10 * second);
  hearing.cancel();
  done.cancel();
  return struck;
}
