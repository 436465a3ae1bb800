import { expect, test } from 'vitest';

import { TestClock } from '../../api/testing/test-io.fixture.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Token } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Xid } from '../formats/xid.ts';
import { Locks } from './locks.ts';

test('a reader of a locked key goes on when the node stops, and one that comes later at once', () => {
  const clock = new TestClock();
  const locks = new Locks(clock, 1000);
  const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  locks.take('n1-0-1' as Xid, [{ key, token: 1 as Token }]);
  const heard: string[] = [];
  const wait = (): void => locks.wait(key, (error) => void heard.push(error?.code ?? 'free'));
  wait();
  locks.close();
  wait();
  clock.advance(2000);
  expect(heard).toEqual(['ShuttingDown', 'ShuttingDown']);
});

test('of two branches of a key that a start finds each holds the lock until it is over', () => {
  const locks = new Locks(new TestClock(), 1000);
  const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));
  const places = [{ key, token: 1 as Token }];
  const all = ['n1-0-1', 'n1-0-2', 'n1-0-3'] as Xid[];
  const holders = (): readonly boolean[] => all.map((xid) => locks.isHeldBy(key, xid));
  for (const xid of all) locks.retake(xid, places);
  expect([...locks.holdersOf(() => true)]).toEqual(all);
  const heard: string[] = [];
  locks.wait(key, () => void heard.push('free'));
  locks.release(all[1] as Xid, places);
  expect(holders()).toEqual([true, false, true]);
  locks.release(all[0] as Xid, places);
  expect([holders(), locks.holder(key), heard]).toEqual([[false, false, true], all[2], []]);
  locks.release(all[2] as Xid, places);
  expect([locks.size, heard]).toEqual([0, ['free']]);
});
