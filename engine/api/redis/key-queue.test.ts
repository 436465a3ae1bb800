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

test('the rest of a turn that was cut goes before the commands that came meanwhile', async () => {
  const redis = await TestingRedis.start();
  const { dispatcher } = redis;
  const long = (letter: string): string => letter.repeat(9000);
  const exchange = (letter: string): Buffer => encodeRequest(['GETSET', 'k', long(letter)]);
  const [first, second, third] = [redis.join(), redis.join(), redis.join()];
  await first.ask('SET', 'k', long('a'));
  dispatcher.holding = true;
  await first.send(exchange('b'));
  // Their replies are longer than one turn may hold, so the turn ends before the last of them.
  await first.send(exchange('c'));
  await second.send(exchange('d'), exchange('e'));
  await third.send(exchange('f'), exchange('g'));
  dispatcher.release();
  await first.turn();
  dispatcher.release();
  await first.turn();
  expect(dispatcher.held).toBe(1);
  await third.send(encodeRequest(['GET', 'k']));
  let heard = await third.turn();
  for (dispatcher.holding = false; dispatcher.release();) heard += await third.turn();
  heard += await third.turn();
  const values = heard.split('\r\n').filter((line) => line.length > 100);
  expect(values.map((value) => value[0]).join('')).toBe('efg');
});

test('a plain SET goes through the primary while transactions of a member may not yield to it', async () => {
  const redis = await TestingRedis.start();
  redis.mayReplace = false;
  const peer = redis.join();
  expect(await peer.send(encodeRequest(['SET', 'k', '1']), encodeRequest(['SETEX', 'k', '9', '2']))).toBe(
    '+OK\r\n+OK\r\n',
  );
  expect(redis.transactions.requests.map(({ operations }) => operations[0]?.ifAbsent)).toEqual([true, false]);
});
