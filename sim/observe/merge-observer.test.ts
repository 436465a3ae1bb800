import { expect, it } from 'vitest';

import type { PackedKey } from '../../engine/base/object-key.ts';
import type { LogRecord } from './log-records.ts';
import { MergeObserver } from './merge-observer.ts';

const key = 'k' as PackedKey;
const value = new Uint8Array([1]);
const noFiles: ReadonlyMap<string, Buffer> = new Map();

function recordAt(seq: number, of: LogRecord['value']): LogRecord {
  return { key, seq, token: 0, value: of, at: 0, bytes: 0 };
}

/** What is found of a merge after which the disk holds `found` of the key, if `written` was written before. */
function lostBy(written: readonly LogRecord[], found: readonly LogRecord[]): number {
  const observer = new MergeObserver(() =>
    found.map((record) => ['store', key, record, 'store/1.log'] as const),
  );
  observer.started('n1');
  for (const record of written) observer.wrote('n1', 'store', record);
  observer.merged('n1', noFiles, 1);
  expect(observer.records.compared).toBe(1);
  return observer.records.lost.length;
}

it('a merge keeps the newest record of a key', () => {
  const written = [recordAt(1, value), recordAt(2, value)];
  expect(lostBy(written, [recordAt(2, value)])).toBe(0);
  expect(lostBy(written, [recordAt(1, value)])).toBe(1);
  expect(lostBy(written, [])).toBe(1);
});

it('a merge may drop a removal, and brings nothing back', () => {
  const written = [recordAt(1, value), recordAt(2, undefined)];
  expect(lostBy(written, [])).toBe(0);
  expect(lostBy(written, [recordAt(2, undefined)])).toBe(0);
  expect(lostBy(written, [recordAt(1, value)])).toBe(1);
});

it('records that are damaged, or of an earlier incarnation, are not judged', () => {
  expect(lostBy([recordAt(1, 'damaged')], [])).toBe(0);
  const observer = new MergeObserver(() => []);
  observer.started('n1');
  observer.wrote('n1', 'store', recordAt(1, value));
  observer.started('n1');
  observer.merged('n1', noFiles, 1);
  expect(observer.records.lost).toEqual([]);
});
