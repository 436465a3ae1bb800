import { expect, it } from 'vitest';

import type { PackedKey } from '../../engine/base/object-key.ts';
import type { LogRecord } from './log-records.ts';
import { SyncedRecords } from './synced-records.ts';

const key = 'k' as PackedKey;
const value = new Uint8Array([1]);

function recordAt(seq: number, of: LogRecord['value']): LogRecord {
  return { key, seq, token: 0, value: of, at: 0, bytes: 0 };
}

/** A disk with a manifest of its own; `record`: the newest of the key. */
interface Look {
  readonly manifest: string;
  readonly record?: LogRecord;
}

function filesOf({ manifest }: Look): ReadonlyMap<string, Buffer> {
  return new Map([['store/MANIFEST', Buffer.from(manifest)]]);
}

function observerOf(looks: readonly Look[]): SyncedRecords {
  return new SyncedRecords((files) => {
    const look = looks.find(({ manifest }) => files.get('store/MANIFEST')?.toString() === manifest);
    return look?.record === undefined ? [] : [['store', key, look.record, 'store/1.log'] as const];
  });
}

/** How many records were lost from one manifest to the next. */
function lostBetween(before: LogRecord, after?: LogRecord): number {
  const looks: readonly [Look, Look] = [
    { manifest: 'one', record: before },
    { manifest: 'two', ...(after && { record: after }) },
  ];
  const observer = observerOf(looks);
  observer.opened('n1', filesOf(looks[0]));
  observer.named('n1', filesOf(looks[1]), 1);
  expect(observer.records.compared).toBe(1);
  return observer.records.lost.length;
}

it('a manifest keeps the newest durable record, or a newer one', () => {
  expect(lostBetween(recordAt(2, value), recordAt(2, value))).toBe(0);
  expect(lostBetween(recordAt(2, value), recordAt(3, undefined))).toBe(0);
  expect(lostBetween(recordAt(2, value), recordAt(1, value))).toBe(1);
  expect(lostBetween(recordAt(2, value))).toBe(1);
});

it('a removal, and a record that could not be read, may vanish', () => {
  expect(lostBetween(recordAt(2, undefined))).toBe(0);
  expect(lostBetween(recordAt(2, 'damaged'))).toBe(0);
});

it('judges no manifest twice, and none of another incarnation or of an altered disk', () => {
  const looks: readonly [Look, Look] = [{ manifest: 'one', record: recordAt(2, value) }, { manifest: 'two' }];
  const observer = observerOf(looks);
  observer.opened('n1', filesOf(looks[0]));
  observer.named('n1', filesOf(looks[0]), 1);
  expect(observer.records.compared).toBe(0);
  observer.ended('n1');
  observer.named('n1', filesOf(looks[1]), 2);
  observer.opened('n1', filesOf(looks[0]));
  observer.altered('n1');
  observer.named('n1', filesOf(looks[1]), 3);
  expect(observer.records).toEqual({ compared: 0, lost: [] });
});
