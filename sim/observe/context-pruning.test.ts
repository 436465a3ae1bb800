/** Tests which losses of a context count as pruning. */
import { describe, expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import { defaultType, nameOfKey, objectKey } from '../../engine/base/object-key.ts';
import { defaultProperties } from '../../engine/buckets/properties.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import type { Actor, Dot } from '../../engine/replica/object/dots.ts';
import { countersPerMs, describeVector } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { applyWrite } from '../../engine/replica/object/object.ts';
import { PrunedEntries, judgePruning } from './context-pruning.ts';

const noDots = { compared: 0, skipped: 0, reused: [], lost: [], twice: [] };
const limits = { smallVclock: 2, bigVclock: 3, youngVclock: 1, oldVclock: 5 };

/** Actors `a`, `b` and so on write one after the other, at these milliseconds; each has seen those before it. */
function writtenAt(...instantsMs: readonly number[]): StoredObject {
  let object: StoredObject | undefined;
  for (const [index, atMs] of instantsMs.entries()) {
    const dot: Dot = {
      actor: byteStringOf(String.fromCharCode(97 + index)) as Actor,
      counter: atMs * countersPerMs,
    };
    object = applyWrite(
      object,
      object?.context ?? [],
      plainContent(Buffer.from('v'), 'text/plain'),
      dot,
      atMs,
    );
  }
  return object ?? { context: [], siblings: [] };
}

/** `now` replaces what it had seen, and lacks the entries of these actors. */
function judged(now: StoredObject, before: number, ...pruned: readonly string[]): string | undefined {
  const context = now.context.filter(({ actor }) => !pruned.some((name) => byteStringOf(name) === actor));
  const old = { ...now, context: now.context.slice(0, before), siblings: [] };
  return judgePruning(old, { ...now, context }, limits);
}

it('old entries go, and young ones where many are left', () => {
  expect(judged(writtenAt(1_000, 2_000, 8_000), 2)).toBeUndefined();
  expect(judged(writtenAt(1_000, 2_000, 8_000), 2, 'a')).toBe('allowed');
  expect(judged(writtenAt(1_000, 2_000, 3_000, 4_000), 3, 'a')).toBe('allowed');
});

it('a young entry, or one that is not the oldest, may not go, and few stay (negative control)', () => {
  expect(judged(writtenAt(1_000, 2_000, 3_000), 2, 'a')).toContain('a:1024000 is 2000 ms old, not 5000');
  expect(judged(writtenAt(3_500, 3_600, 3_700, 4_000), 3, 'a')).toContain('is 500 ms old, not 1000');
  expect(judged(writtenAt(1_000, 2_000, 9_000), 2, 'b')).toContain('a:1024000 is older, and stays');
  expect(judged(writtenAt(1_000, 9_000), 1, 'a')).toContain('fewer than 2 are left');
});

it('only a write prunes (negative control)', () => {
  const now = writtenAt(1_000, 2_000, 8_000);
  const pruned = { ...now, context: now.context.slice(1) };
  expect(judgePruning(now, pruned, limits)).toContain('nothing was written');
});

describe('what nodes log that they prune', () => {
  const { packed: key } = objectKey(defaultType, byteStringOf('b 1'), byteStringOf('k'));
  const dotOf = (name: string, atMs: number): Dot => ({
    actor: byteStringOf(name) as Actor,
    counter: atMs * countersPerMs,
  });

  /** At second 8, `n1` logs that it prunes the entry of `a` from second 1. */
  function logged(left: number, youngVclock = 1): PrunedEntries {
    const pruned = new PrunedEntries(
      () => new Map([['default', { ...defaultProperties, ...limits, youngVclock }]]),
    );
    const entries = describeVector([dotOf('n1.aa', 1_000)]);
    const by = describeVector([dotOf('n1.bb', 8_000)]);
    pruned.logged({ host: 'n1', atUs: 5, fields: { key: nameOfKey(key), entries, left, by } });
    return pruned;
  }

  it('an entry that may go excuses what it covers', () => {
    const pruned = logged(2);
    const counter = 1_000 * countersPerMs;
    expect(pruned.entries).toMatchObject([{ node: 'n1', key: 'b 1/k', actor: 'n1.aa', counter, atUs: 5 }]);
    const covered = [dotOf('n1.aa', 900), dotOf('n1.aa', 1_001), dotOf('n1.bb', 900)];
    expect(covered.map((dot) => pruned.covers(key, dot))).toEqual([true, false, false]);
    expect(pruned.added(noDots)).toMatchObject({ compared: 1, lost: [] });
  });

  it('an entry that may not go excuses nothing, and is a breach (negative control)', () => {
    for (const pruned of [logged(1), logged(2, 9)]) {
      expect(pruned.entries).toEqual([]);
      expect(pruned.covers(key, dotOf('n1.aa', 900))).toBe(false);
    }
    expect(logged(1).added(noDots).lost[0]?.text).toContain(
      'n1 prunes [n1.aa:1024000] of b 1/k, but fewer than 2',
    );
    expect(logged(2, 9).added(noDots).lost[0]?.text).toContain('is 7000 ms old, not 9000');
  });
});
