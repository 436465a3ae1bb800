import { expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { Actor, Dot } from '../../engine/replica/object/dots.ts';
import { WriteSpread } from './write-spread.ts';

const key = 'k' as PackedKey;
const dot: Dot = { actor: byteStringOf('n1.0') as Actor, counter: 1 };

/** One put that n1 coordinates, of a key of n1, n2 and n3; `holders` have it when it is judged. */
function spreadOf(
  holders: readonly string[],
  hindered: readonly string[] = [],
  earlier: readonly string[] = [],
): WriteSpread {
  const spread = new WriteSpread({
    patienceUs: 10,
    isHindered: (node) => hindered.includes(node),
    ownersOf: () => ['n1', 'n2', 'n3'],
    holds: (node) => holders.includes(node),
    isHinted: (peer) => earlier.includes(peer),
    describe: () => 'the put',
  });
  spread.wrote('n2', key, 7, dot, 4);
  spread.wrote('n1', key, 7, dot, 5);
  return spread;
}

it('a replica holds the put, or some disk has had a hint of it for that replica', () => {
  const spread = spreadOf(['n2']);
  spread.hinted('n3', key, () => true);
  spread.judge(16);
  expect(spread.records).toEqual({ compared: 2, skipped: 0, missed: [] });
});

it('a hint for another replica, of another key or of another put is none', () => {
  const spread = spreadOf(['n2']);
  spread.hinted('n2', key, () => true);
  spread.hinted('n3', 'l' as PackedKey, () => true);
  spread.hinted('n3', key, () => false);
  spread.judge(16);
  expect(spread.records.missed).toEqual([{ atUs: 16, text: expect.stringContaining('n3 lacks it') }]);
});

it('a put is judged once its coordinator has had its time, and not if that ends before', () => {
  const early = spreadOf([]);
  early.judge(15);
  expect(early.records.compared).toBe(0);
  early.ended('n2');
  early.judge(16);
  early.judge(90);
  expect([early.records.compared, early.records.missed.length]).toEqual([2, 2]);
  const dead = spreadOf([]);
  dead.ended('n1');
  dead.judge(16);
  expect(dead.records).toEqual({ compared: 0, skipped: 1, missed: [] });
});

it('a coordinator that a fault may keep from writing its hints in time is not judged', () => {
  const spread = spreadOf([], ['n1']);
  spread.judge(90);
  expect(spread.records).toEqual({ compared: 0, skipped: 1, missed: [] });
});

it('a hint that reaches a disk before the put reaches that of its coordinator counts', () => {
  const spread = spreadOf(['n2'], [], ['n3']);
  spread.judge(90);
  expect(spread.records).toEqual({ compared: 2, skipped: 0, missed: [] });
});
