import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { objectKey, systemKey } from '../base/object-key.ts';
import { Epochs } from './epochs.ts';
import { recordName } from './property-codec.ts';
import { PropertyTable } from './property-table.ts';
import { epochIn, epochRecord, mergeRecords, resetAt, settingOf, valuesOf } from './registers.ts';

const type = byteStringOf('default');
const bucket = byteStringOf('redis');
const name = recordName(type, bucket);
const key = objectKey(type, bucket, byteStringOf('k'));
const [n1, n2] = ['n1', 'n2'] as [NodeId, NodeId];

test('a key is present in its bucket’s epoch, former before it and later after it', () => {
  const [ours, theirs] = [new Epochs(), new Epochs()];
  theirs.note([{ name, record: epochRecord(7) }]);
  const later = theirs.present(key);
  expect(ours.present(key)).toBe(key);
  expect([ours.judge(key.packed), ours.judge(later.packed)]).toEqual(['present', 'later']);
  ours.note([{ name, record: epochRecord(7) }]);
  expect([ours.judge(key.packed), ours.judge(later.packed)]).toEqual(['former', 'present']);
  ours.note([{ name, record: epochRecord(9) }]);
  expect(ours.judge(later.packed)).toBe('former');
  expect(ours.present(later)).toEqual(ours.present(key));
  expect(ours.judge(ours.present(later).packed)).toBe('present');
});

test('an epoch concerns one bucket, and none of the engine’s own records', () => {
  const epochs = new Epochs();
  epochs.note([{ name, record: epochRecord(7) }]);
  const others = [byteStringOf('redi'), byteStringOf('redis:1'), byteStringOf('x')];
  for (const other of others) {
    const named = objectKey(type, other, byteStringOf('k'));
    expect(epochs.present(named)).toBe(named);
    expect(epochs.judge(named.packed)).toBe('present');
  }
  expect(epochs.judge(systemKey(bucket, byteStringOf('k')))).toBe('present');
});

test('a lower epoch takes nothing back', () => {
  const epochs = new Epochs();
  epochs.note([{ name, record: epochRecord(9) }]);
  epochs.note([{ name, record: epochRecord(7) }]);
  expect(epochs.of(type, bucket)).toBe(9);
});

test('the next epoch is above the known one, whatever the clock says, and no other node chooses it', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.integer({ min: -5000, max: 2 ** 41 }), (known, wallMs) => {
      const epochs = new Epochs();
      epochs.note([{ name, record: epochRecord(known + 1) }]);
      const next = epochs.next(name, n1, wallMs);
      expect(next).toBeGreaterThan(known + 1);
      expect(Number.isSafeInteger(next)).toBe(true);
      expect(epochs.next(name, n2, wallMs)).not.toBe(next);
    }),
  );
});

test('neither a setting nor a reset of properties changes the epoch, and the epoch is no property', () => {
  const set = settingOf(new Map([['allow_mult', true]]), { counter: 2 ** 45, node: n1 });
  const reset = resetAt({ counter: 2 ** 46, node: n2 });
  for (const [left, right] of [
    [epochRecord(7), reset],
    [reset, mergeRecords(set, epochRecord(7))],
  ] as const) {
    const merged = mergeRecords(left, right);
    expect(epochIn(merged)).toBe(7);
    expect([...valuesOf(merged)]).toEqual([]);
  }
  expect(epochIn(mergeRecords(epochRecord(7), epochRecord(9)))).toBe(9);
  const table = new PropertyTable([{ name, record: mergeRecords(set, epochRecord(2 ** 50)) }]);
  expect(table.highest).toBe(2 ** 45);
});

test('keys of the present epoch have the prefix that walks of the store use', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      fc.string({ minLength: 1 }),
      (epoch, text) => {
        const epochs = new Epochs();
        epochs.note([{ name, record: epochRecord(epoch) }]);
        const named = objectKey(type, bucket, byteStringOf(text));
        const { packed } = epochs.present(named);
        expect(packed).toBe(epochs.prefixOf(type, bucket) + byteStringOf(text));
      },
    ),
  );
});
