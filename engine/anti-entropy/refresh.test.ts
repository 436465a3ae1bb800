/** The recomputation of the hash tree over a store whose disk refuses some reads. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import { Refresh } from './refresh.ts';
import { Throttle } from './throttle.ts';
import { Tree, wholeRing } from './tree.ts';

interface Mark {
  high: number;
  low: number;
}

/** One key in each of the 16 segments, `k0` to `k15`, and which of them the disk refuses to read. */
class Harness {
  readonly refused = new Set<string>();
  readonly tree = new Tree(4);
  readonly throttle = new Throttle(new TestClock(), 0);
  readonly refresh: Refresh;
  readonly #marks = new Map<PackedKey, Mark>();

  constructor() {
    for (let segment = 0; segment < 16; segment++) this.#marks.set(keyOf(segment), { high: 0, low: 0 });
    const fingerprints = {
      keyCount: 16,
      listen: () => undefined,
      emptyThrough: (first: number) => first - 1,
      visit: (first: number, last: number, visitor: (...about: readonly unknown[]) => void) => {
        for (const [key, { high, low }] of this.#marks)
          if (tokenOf(key) >= first && tokenOf(key) <= last) visitor(tokenOf(key), high, low, 1, () => key);
      },
      remember: (key: PackedKey, _seq: number, high: number, low: number) =>
        this.#marks.set(key, { high, low }),
      forget: () => {
        for (const mark of this.#marks.values()) mark.high = mark.low = 0;
        return 16;
      },
      rescan: () => this.#read([...this.refused][0]).then(() => undefined),
    };
    const store = {
      fingerprints,
      get: (key: PackedKey) => this.#read(key),
      getDoubted: () => undefined,
      hasNewest: () => false,
      keepsDoubt: () => false,
    };
    this.refresh = new Refresh(this.tree, store as never, this.throttle);
  }

  get dirty(): readonly number[] {
    return [...Array(16).keys()].filter((segment) => this.tree.isDirty(segment));
  }

  #read(key: string | undefined): Promise<Uint8Array> {
    const isRefused = key !== undefined && this.refused.has(key);
    return isRefused
      ? Promise.reject(new LockstepError('StorageFailed', `the disk refuses ${key}`))
      : Promise.resolve(Buffer.from(key ?? ''));
  }
}

function keyOf(segment: number): PackedKey {
  return `k${segment}` as PackedKey;
}

function tokenOf(key: PackedKey): number {
  return Number(key.slice(1)) * 2 ** 28 + 5;
}

test('a value that the disk refuses leaves its segment dirty, and no other one', async () => {
  const { refresh, refused, dirty, tree } = harnessWith('k3');
  await expect(refresh.settle([wholeRing])).rejects.toMatchObject({ code: 'StorageFailed' });
  expect(dirty()).toEqual([3]);
  expect(tree.countOf(15)).toBe(1);
  expect(refresh.cleanParts([wholeRing])).toEqual([
    { first: 0, last: 3 * 2 ** 28 - 1 },
    { first: 4 * 2 ** 28, last: 0xffffffff },
  ]);
  refused.clear();
  await refresh.settle([wholeRing]);
  expect([dirty(), refresh.cleanParts([wholeRing])]).toEqual([[], [wholeRing]]);
});

test('clean parts begin and end within the ranges', async () => {
  const { refresh } = harnessWith('k3');
  await refresh.settle([wholeRing]).catch(() => undefined);
  const cut = { first: 3 * 2 ** 28 - 9, last: 4 * 2 ** 28 + 9 };
  expect(refresh.cleanParts([cut, { first: 3 * 2 ** 28 + 1, last: 3 * 2 ** 28 + 2 }])).toEqual([
    { first: cut.first, last: 3 * 2 ** 28 - 1 },
    { first: 4 * 2 ** 28, last: cut.last },
  ]);
});

test('a sweep reads all other values although the disk refuses one', async () => {
  const { refresh, dirty } = harnessWith('k0');
  await refresh.reread();
  await expect(refresh.settle([wholeRing])).rejects.toMatchObject({ code: 'StorageFailed' });
  expect(dirty()).toEqual([0]);
});

test('a recomputation ends once the throttle has stopped', async () => {
  const { refresh, throttle, dirty } = harnessWith('none');
  throttle.stop();
  await expect(refresh.settle([wholeRing])).rejects.toMatchObject({ code: 'ShuttingDown' });
  expect(dirty()).toHaveLength(16);
});

function harnessWith(refused: string): {
  readonly refresh: Refresh;
  readonly refused: Set<string>;
  readonly throttle: Throttle;
  readonly tree: Tree;
  readonly dirty: () => readonly number[];
} {
  const harness = new Harness();
  harness.refused.add(refused);
  const { refresh, throttle, tree } = harness;
  return { refresh, refused: harness.refused, throttle, tree, dirty: () => harness.dirty };
}
