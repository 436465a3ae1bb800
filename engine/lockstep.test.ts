import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import type { NodeId } from './lockstep.ts';
import {
  AntiEntropyMetrics,
  byteStringOf,
  createRealIo,
  defaultConfig,
  defaultType,
  emptyVector,
  liveSiblings,
  loadSnapshotWithMetrics,
  Node,
  objectKey,
  plainContent,
  saveSnapshotWithMetrics,
  Store,
  storeDefaults,
  tombstone,
  Tree,
} from './lockstep.ts';

const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

describe('the engine as a library', () => {
  it('starts a node, writes, reads, deletes and stops without a client connection', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'lockstep-embedded-'));
    directories.push(dataDirectory);
    const io = createRealIo({ dataDirectory, logLevel: 'error', node: 'n1' });
    const config = defaultConfig('embedded', {
      name: 'n1' as NodeId,
      listen: undefined,
      pbListen: undefined,
      statsListen: undefined,
      peerListen: '127.0.0.1:0',
    });
    const node = await Node.start(io, config);
    const key = objectKey(defaultType, byteStringOf('fruit'), byteStringOf('apple'));
    const content = plainContent(Buffer.from('red and round'), 'text/plain');
    const written = await node.objects.put({ key, need: 'default', context: emptyVector, content });
    const read = await node.objects.get({ key, need: 'default' });
    expect(read.object?.siblings.map((sibling) => Buffer.from(sibling.value).toString())).toEqual([
      'red and round',
    ]);
    const context = written.object.context;
    await node.objects.put({ key, need: 'default', context, content: tombstone });
    const gone = await node.objects.get({ key, need: 'default' });
    expect(gone.object === undefined ? [] : liveSiblings(gone.object)).toEqual([]);
    await node.stop();
    expect(io.failedTasks()).toBe(0);
  });

  it('saves and loads a hash tree, and counts what it did', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'lockstep-embedded-'));
    directories.push(dataDirectory);
    const io = createRealIo({ dataDirectory, logLevel: 'error', node: 'n1' });
    const store = await Store.open(io, 'store', { ...storeDefaults, nodeName: 'n1' });
    const metrics = new AntiEntropyMetrics();
    const shape = { segmentBits: 4, node: byteStringOf('n1'), storeId: store.storeId };
    const counted = (): readonly (number | undefined)[] =>
      ['save', 'load', 'corruption'].map((what) => {
        const family = metrics.families.find(({ name }) => name === `aae_snapshot_${what}_total`);
        return family?.collect()[0]?.value;
      });
    await saveSnapshotWithMetrics(io, new Tree(4), shape, 0, metrics);
    await loadSnapshotWithMetrics(io, shape, store, metrics);
    expect(counted()).toEqual([1, 1, 0]);
    const path = join(dataDirectory, 'aae/tree.snapshot');
    const bytes = readFileSync(path);
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    const tree = await loadSnapshotWithMetrics(io, shape, store, metrics);
    expect([tree.dirtyCount, ...counted()]).toEqual([tree.segmentCount, 1, 1, 1]);
    await store.close();
  });
});
