/** The removal of flushed keys: all of them, no others, and ever more rarely those that do not go. */
import { expect, test } from 'vitest';

import { TestClock } from '../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../base/ids.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { StoredObject } from './object/object.ts';
import { FlushedKeys } from './flushed-keys.ts';

function keyOf(bucket: string, name: string): PackedKey {
  return objectKey(defaultType, byteStringOf(bucket), byteStringOf(name)).packed;
}

/** A store whose keys of the bucket `old` are flushed. */
class Harness {
  readonly clock = new TestClock();
  readonly keys = new Set<PackedKey>();
  /** Keys that the store does not let go. */
  readonly stuck = new Set<PackedKey>();
  /** Keys whose write the store has not answered yet. */
  readonly writing = new Set<PackedKey>();
  walks = 0;
  readonly failures: unknown[] = [];
  written: (key: PackedKey) => void = () => undefined;
  readonly removal: FlushedKeys;

  constructor(old: number, present: number) {
    for (let index = 0; index < old; index++) this.keys.add(keyOf('old', `k${index}`));
    for (let index = 0; index < present; index++) this.keys.add(keyOf('new', `k${index}`));
    const prefix = keyOf('old', 'k').slice(0, -1);
    this.removal = new FlushedKeys({
      io: {
        clock: this.clock,
        log: { enabled: () => false, event: () => undefined },
        spawn: (_name, task) => void task().catch((error: unknown) => this.failures.push(error)),
      },
      keys: () => {
        this.walks += 1;
        return [...this.keys];
      },
      tokenOf: () => 0 as Token,
      isFormer: (key) => key.startsWith(prefix),
      isAny: () => true,
      replica: {
        discard: (key, _token, _isThat, done) => done(!this.stuck.has(key) && this.keys.delete(key)),
        isWriting: (isOne) => [...this.writing].some(isOne),
        watch: (stored) => {
          this.written = (key) => stored(key, 0 as Token, {} as StoredObject);
        },
      },
    });
  }

  /** Lets time pass, and all that it causes happen. */
  async pass(us: number): Promise<void> {
    for (let left = us; left > 0; left -= 10_000) {
      this.clock.advance(10_000);
      for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    }
  }
}

test('all flushed keys go, and no others', async () => {
  const harness = new Harness(3000, 2000);
  harness.removal.start();
  await harness.pass(2_000_000);
  expect([harness.keys.size, harness.removal.removed, harness.walks]).toEqual([2000, 3000, 1]);
  // A key that is written in the former epoch afterwards goes, too.
  harness.keys.add(keyOf('old', 'late'));
  harness.written(keyOf('old', 'late'));
  await harness.pass(500_000);
  expect([harness.keys.size, harness.walks]).toEqual([2000, 2]);
  await harness.pass(5_000_000);
  expect(harness.walks).toBe(2);
  await harness.removal.stop();
  expect(harness.failures).toEqual([]);
});

test('a walk waits for what was on its way to the disk at the flush, however long that takes', async () => {
  const harness = new Harness(1, 1);
  const late = keyOf('old', 'late');
  harness.writing.add(late);
  harness.removal.start();
  await harness.pass(3_000_000);
  expect([harness.keys.size, harness.walks]).toEqual([2, 0]);
  harness.writing.delete(late);
  harness.keys.add(late);
  // A write of the present epoch is not waited for.
  harness.writing.add(keyOf('new', 'k9'));
  await harness.pass(200_000);
  expect([harness.keys.size, harness.walks]).toEqual([1, 1]);
  await harness.pass(5_000_000);
  expect(harness.walks).toBe(1);
  await harness.removal.stop();
  expect(harness.failures).toEqual([]);
});

test('a key that does not go is met again, ever more rarely, and goes once it can', async () => {
  const harness = new Harness(2, 0);
  harness.stuck.add(keyOf('old', 'k1'));
  harness.removal.start();
  await harness.pass(60_000_000);
  expect([...harness.keys]).toEqual([keyOf('old', 'k1')]);
  expect(harness.walks).toBeGreaterThan(3);
  expect(harness.walks).toBeLessThan(8);
  harness.stuck.clear();
  await harness.pass(70_000_000);
  expect(harness.keys.size).toBe(0);
});

test('nothing is removed before the start, nor after the stop', async () => {
  const harness = new Harness(10, 0);
  harness.removal.want();
  await harness.pass(1_000_000);
  expect(harness.keys.size).toBe(10);
  harness.removal.start();
  await harness.removal.stop();
  await harness.pass(1_000_000);
  expect(harness.keys.size).toBe(10);
});
