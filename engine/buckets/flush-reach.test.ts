import { expect, test } from 'vitest';

import type { NodeId } from '../base/ids.ts';
import { datacenterLacking } from './flush-reach.ts';

/** Members as `datacenter/rack/node`. */
function membersOf(...places: readonly string[]): { node: NodeId; datacenter: string; rack: string }[] {
  return places.map((place) => {
    const [datacenter = '', rack = '', node = ''] = place.split('/');
    return { node: node as NodeId, datacenter, rack };
  });
}

function lacking(members: readonly string[], ...holders: readonly string[]): string | undefined {
  return datacenterLacking(membersOf(...members), new Set(holders as NodeId[]));
}

test('a majority of the racks of a datacenter must have it', () => {
  const three = ['d/r1/a', 'd/r2/b', 'd/r3/c'];
  expect(lacking(three, 'a', 'b')).toBeUndefined();
  expect(lacking(three, 'a')).toBe('d');
  expect(lacking(['d/r1/a', 'd/r2/b'], 'a')).toBe('d');
  expect(lacking(['d/r1/a'], 'a')).toBeUndefined();
});

test('a rack counts if all its members have it, since any of them may hold a key’s copy', () => {
  const members = ['d/r1/a', 'd/r1/b', 'd/r2/c', 'd/r2/e', 'd/r3/f', 'd/r3/g'];
  expect(lacking(members, 'a', 'b', 'c', 'e', 'f')).toBeUndefined();
  expect(lacking(members, 'a', 'b', 'c', 'f', 'g')).toBeUndefined();
  expect(lacking(members, 'a', 'b', 'c', 'f')).toBe('d');
});

test('each datacenter needs a majority of its own', () => {
  const members = ['d/r1/a', 'd/r2/b', 'd/r3/c', 'e/r1/f', 'e/r2/g', 'e/r3/h'];
  expect(lacking(members, 'a', 'b', 'c', 'f')).toBe('e');
  expect(lacking(members, 'a', 'b', 'f', 'g')).toBeUndefined();
});
