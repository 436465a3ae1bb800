import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { present } from '../../base/assert.ts';
import { membersOf } from '../../config/cross-field-checks.ts';
import { configFileOf, prepareFiles, runningNodes } from './cluster-files.ts';
import { createRealDisk } from '../../real/disk.ts';
import { clusterShape } from './cluster-shape.ts';
import { dataDirectoryOf, readConfigFile } from '../files/config-file.ts';

const shape = (nodeCount: number, basePort = 8098) =>
  clusterShape({ nodeCount, rackCount: undefined, datacenterCount: 1, basePort });

describe('the files of a local cluster', () => {
  let directory = '';
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'lockstep-cluster-files-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('every node’s file is valid and names the whole cluster', () => {
    const nodes = shape(3);
    prepareFiles(directory, nodes);
    for (const node of nodes) {
      const file = configFileOf(directory, node);
      const config = readConfigFile(file, {});
      expect(config).toMatchObject({ pool: 'lockstep', name: node.name, rack: node.rack, listen: node.http });
      expect(
        membersOf(config)
          .map((member) => member.node)
          .sort(),
      ).toEqual(['n1', 'n2', 'n3']);
      expect(dataDirectoryOf(file, config)).toBe(join(directory, node.name, 'data'));
    }
  });

  it('changes that the owner made to a file are kept', () => {
    const nodes = shape(3);
    prepareFiles(directory, nodes);
    const file = configFileOf(directory, present(nodes[1], 'a second node'));
    const changed = `${readFileSync(file, 'utf8')}  sync: 50\n`;
    writeFileSync(file, changed);
    prepareFiles(directory, nodes);
    expect(readFileSync(file, 'utf8')).toBe(changed);
  });

  it('other ports are written into the files', () => {
    prepareFiles(directory, shape(3));
    const nodes = shape(3, 9098);
    prepareFiles(directory, nodes);
    const first = present(nodes[0], 'a first node');
    expect(readConfigFile(configFileOf(directory, first), {}).listen).toBe('127.0.0.1:9098');
  });

  it('other ports are written into a file that its owner changed, and the changes are kept', () => {
    prepareFiles(directory, shape(3));
    const file = configFileOf(directory, present(shape(3)[0], 'a first node'));
    writeFileSync(file, `${readFileSync(file, 'utf8')}  # not too much\n  sync: 50\n`);
    const moved = prepareFiles(directory, shape(3, 9098));
    expect(moved).toHaveLength(3);
    const config = readConfigFile(file, {});
    expect(config).toMatchObject({ listen: '127.0.0.1:9098', sync: { kind: 'interval' } });
    expect(config.seeds.map((seed) => seed.address)).toEqual(['127.0.0.1:9111', '127.0.0.1:9121']);
    expect(readFileSync(file, 'utf8')).toContain('# not too much');
    expect(prepareFiles(directory, shape(3, 9098))).toEqual([]);
  });

  it('a running node is detected by the lock of its store', async () => {
    const nodes = shape(3);
    expect(await runningNodes(directory, nodes)).toEqual([]);
    prepareFiles(directory, nodes);
    const disk = createRealDisk(join(directory, 'n2', 'data'));
    await disk.makeDirectory('store');
    expect(await runningNodes(directory, nodes)).toEqual([]);
    const lock = await disk.lock('store/LOCK');
    expect(await runningNodes(directory, nodes)).toEqual(['n2']);
    await lock.release();
    expect(await runningNodes(directory, nodes)).toEqual([]);
  });

  it('a directory that holds a cluster of another shape is refused, larger or smaller', () => {
    prepareFiles(directory, shape(3));
    expect(() => prepareFiles(directory, shape(2))).toThrow(/another shape: it has files of n3/);
    expect(() => prepareFiles(directory, shape(4))).toThrow(/names other nodes/);
    const moved = shape(3).map((node) => ({ ...node, rack: 'r1' }));
    expect(() => prepareFiles(directory, moved)).toThrow(/names other nodes, datacenters or racks/);
  });
});
