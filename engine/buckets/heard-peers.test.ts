import { expect, test } from 'vitest';

import { settle, TestClock, TestLog } from '../api/testing/test-io.fixture.ts';
import type { NodeId } from '../base/ids.ts';
import { HeardPeers } from './heard-peers.ts';

const peer = 'n2' as NodeId;

test('a fetch that waits for a link ends when the node stops, and none begins after that', async () => {
  const io = {
    clock: new TestClock(),
    log: new TestLog(),
    spawn: (_: string, task: () => unknown) => void task(),
  };
  let fetched = 0;
  let isConnected = false;
  const heard = new HeardPeers(
    io,
    () => isConnected,
    () => Promise.resolve((fetched += 1) > 0),
  );
  const waiting = heard.hear(peer);
  await settle();
  heard.stop();
  expect(await waiting).toBe(false);
  isConnected = true;
  expect(await heard.hear(peer)).toBe(false);
  expect([fetched, heard.has(peer)]).toEqual([0, false]);
});
