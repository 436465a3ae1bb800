import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type { Checkpoint } from '../runner/checkpoint.ts';
import { CheckpointFile, identityOf, readCheckpoint } from './checkpoint-file.ts';

const build = fileURLToPath(new URL('../../dist/', import.meta.url));
let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-checkpoint-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

const run = { firstSeed: 1, shard: { index: 0, count: 1 }, mutant: undefined, ownFile: undefined };

async function checkpointOf(): Promise<Checkpoint> {
  const identity = await identityOf(build, build, run);
  const times = { startedAt: '2026-01-02T03:04:05.000Z', wallMs: 5 };
  return { format: 1, ...identity, ...times, scenarios: [], coverage: { runs: 0, cells: [] } };
}

it('a write that fails is reported, and the next one is tried', async () => {
  const checkpoint = await checkpointOf();
  const notes: string[] = [];
  const out = join(directory, 'out');
  const inTheWay = join(out, 'checkpoint.json.new');
  mkdirSync(inTheWay, { recursive: true });
  const file = new CheckpointFile(
    out,
    () => checkpoint,
    (note) => notes.push(note),
  );
  await file.close();
  expect(notes).toEqual([expect.stringMatching(/checkpoint.json is not written, .*EISDIR/)]);
  expect(await readCheckpoint(out)).toBeUndefined();
  rmSync(inTheWay, { recursive: true });
  await file.close();
  expect(notes).toHaveLength(1);
  expect(await readCheckpoint(out)).toEqual(checkpoint);
  expect(readFileSync(join(out, 'checkpoint.json'), 'utf8').endsWith('\n')).toBe(true);
});

it('a campaign with a mutant or a patch is identified by the copy of the engine that it runs', async () => {
  const patched = { ...run, mutant: 'mine.diff' };
  const [one, other] = await Promise.all(
    ['patch-0123', 'patch-4567'].map((name) => identityOf(build, join(directory, name), patched)),
  );
  expect([one?.mutant, other?.mutant]).toEqual(['patch-0123', 'patch-4567']);
});
