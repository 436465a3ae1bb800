/** A node starts its next incarnation only in a data directory of its own and of its cluster. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import { realClock } from '../../real/clock.ts';
import { createRealDisk } from '../../real/disk.ts';
import { createRealLog } from '../../real/log.ts';
import type { IdentityRecord } from './identity.ts';
import { Identity } from './identity.ts';

let directory = '';

beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'lockstep-identity-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const noBook: IdentityRecord = { had: false, generation: 0, saved: () => undefined };

function open(node: string, clusterId: string, book: IdentityRecord = noBook): Promise<Identity> {
  const io = {
    clock: realClock,
    disk: createRealDisk(directory),
    log: createRealLog({ level: 'error', node }),
  };
  return Identity.open(io, 'identity', { node: node as NodeId, clusterId }, book);
}

test('each start is a greater incarnation of the same node in the same cluster', async () => {
  const first = await open('n1', 'prod');
  const second = await open('n1', 'prod');
  expect(second.generation).toBeGreaterThan(first.generation);
});

test('the directory of a node of another cluster is refused with both ids, and is unchanged', async () => {
  const { generation } = await open('n1', 'prod');
  const refused = open('n1', 'staging');
  await expect(refused).rejects.toMatchObject({ code: 'StoreForeign' });
  await expect(refused).rejects.toThrow(
    /of the cluster "prod", and cluster_id is "staging": set cluster_id to "prod", or give n1 an empty data_dir/,
  );
  expect((await open('n1', 'prod')).generation).toBe(generation + 1);
});

test('a directory of another node is refused', async () => {
  await open('n1', 'prod');
  await expect(open('n2', 'prod')).rejects.toThrow('belongs to the node n1, and this is n2');
});

test('a node that has lost its file continues from the generation that its store knows', async () => {
  const book = { had: true, generation: 9_000_000_000, saved: () => undefined };
  expect((await open('n1', 'prod', book)).generation).toBe(9_000_000_001);
  const emptied = await createRealDisk(directory).open('identity', 'readWrite');
  await emptied.truncate(0);
  await emptied.close();
  const later = { ...book, generation: 9_000_000_007 };
  expect((await open('n1', 'prod', later)).generation).toBe(9_000_000_008);
});
