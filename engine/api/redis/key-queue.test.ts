/** Tests what the commands of one key hear whose turn failed. */
import { expect, test } from 'vitest';

import type { AbortReason } from '../../transactions/formats/outcomes.ts';
import { TestingRedis, encodeRequest } from './redis.fixture.ts';

/** Replies to a SET, and to a GET, an INCR and a GET that wait for it together and whose turn ends with `outcome`. */
async function repliesOf(outcome: 'inDoubt' | AbortReason): Promise<readonly string[]> {
  const redis = await TestingRedis.start();
  redis.transactions.outcomes.push(outcome);
  const commands = [
    ['SET', 'k', '1'],
    ['GET', 'k'],
    ['INCR', 'k'],
    ['GET', 'k'],
  ] as const;
  const peer = redis.join();
  const replies = await peer.send(Buffer.concat(commands.map((words) => encodeRequest(words))));
  return replies.split('\r\n').map((line) => line.split(' ')[0] ?? '');
}

test('while it is unknown whether a write took effect, no read in front of it is answered as if it had not', async () => {
  expect(await repliesOf('inDoubt')).toEqual(['+OK', '-INDOUBT', '-INDOUBT', '$1', '1', '']);
});

test('reads around a write that certainly changed nothing are answered', async () => {
  expect(await repliesOf('prepare_failed')).toEqual(['+OK', '$1', '1', '-ABORTED', '$1', '1', '']);
});
