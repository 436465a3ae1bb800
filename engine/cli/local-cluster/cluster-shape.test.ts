import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { splitAddress } from '../../config/addresses.ts';
import { basePortDefault, clusterShape, listenersOf, nodeCountMax } from './cluster-shape.ts';
import { UsageError } from '../exit-codes.ts';

const shape = (
  nodeCount: number | undefined,
  rackCount: number | undefined,
  datacenterCount: number,
  basePort = basePortDefault,
) => clusterShape({ nodeCount, rackCount, datacenterCount, basePort });

describe('the shape of a local cluster', () => {
  it('the first node has the product’s default ports', () => {
    expect(shape(3, 3, 1)[0]).toEqual({
      name: 'n1',
      datacenter: 'dc1',
      rack: 'r1',
      http: '127.0.0.1:8098',
      pb: '127.0.0.1:8087',
      redis: '127.0.0.1:8099',
      peer: '127.0.0.1:8101',
      stats: '127.0.0.1:22222',
    });
  });

  it('nodes are distributed over datacenters first, then over racks', () => {
    const places = (...given: [number, number, number]) =>
      shape(...given).map(({ datacenter, rack }) => `${datacenter}/${rack}`);
    expect(places(3, 3, 1)).toEqual(['dc1/r1', 'dc1/r2', 'dc1/r3']);
    expect(places(5, 3, 1)).toEqual(['dc1/r1', 'dc1/r2', 'dc1/r3', 'dc1/r1', 'dc1/r2']);
    expect(places(6, 3, 2)).toEqual(['dc1/r1', 'dc2/r1', 'dc1/r2', 'dc2/r2', 'dc1/r3', 'dc2/r3']);
  });

  it('more racks or datacenters than nodes are refused, with the number of nodes needed', () => {
    expect(() => shape(2, 3, 1)).toThrow(UsageError);
    expect(() => shape(2, 3, 1)).toThrow('--nodes 2: 1 datacenter of 3 racks takes at least 3 nodes');
    expect(() => shape(5, 3, 2)).toThrow('--nodes 5: 2 datacenters of 3 racks take at least 6 nodes');
    expect(() => shape(2, undefined, 3)).toThrow('--nodes 2: 3 datacenters take at least 3 nodes');
    expect(() => shape(undefined, 60, 2)).toThrow('at most 100 nodes are allowed');
    expect(shape(6, 3, 2)).toHaveLength(6);
  });

  it('defaults fit the given options: three racks, or fewer with fewer nodes, and a node for each rack', () => {
    const racks = (...given: [number | undefined, number | undefined, number]) =>
      shape(...given).map(({ rack }) => rack);
    expect(racks(undefined, undefined, 1)).toEqual(['r1', 'r2', 'r3']);
    expect(racks(2, undefined, 1)).toEqual(['r1', 'r2']);
    expect(racks(undefined, 1, 2)).toEqual(['r1', 'r1']);
    expect(racks(4, undefined, 1)).toEqual(['r1', 'r2', 'r3', 'r1']);
  });

  it('no port is used twice, whatever the number of nodes', () => {
    const ports = fc.integer({ min: 1035, max: 50_421 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: nodeCountMax }), ports, (nodeCount, basePort) => {
        const used = shape(nodeCount, undefined, 1, basePort)
          .flatMap(listenersOf)
          .map(({ address }) => address);
        expect(new Set(used).size).toBe(nodeCount * 5);
        expect(used.every((address) => splitAddress(address) !== undefined)).toBe(true);
      }),
    );
  });

  it('a base port that leaves too few ports is refused, with the allowed range', () => {
    expect(() => shape(3, 3, 1, 80)).toThrow(UsageError);
    expect(() => shape(3, 3, 1, 51_392)).toThrow('allowed for 3 nodes: 1035 to 51391');
    expect(shape(3, 3, 1, 51_391)).toHaveLength(3);
  });
});
