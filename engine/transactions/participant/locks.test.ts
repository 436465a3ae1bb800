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
