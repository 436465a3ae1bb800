/**
 * Tests of how long a Redis client may take to send one command: chosen cases, and random cuts and pauses against a
 * model.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { TestingRedis, encodeRequest } from './redis.fixture.ts';

const limitUs = 1_000_000;
const late = '-ERR Protocol error: a command was not whole 1000 ms after it began\r\n';

test('a command must be complete in time; between commands a client may be silent', async () => {
  const redis = await TestingRedis.start({ messageUsMax: limitUs });
  const peer = redis.join();
  const command = encodeRequest(['SET', 'a', '1']);
  let replies = '';
  for (let count = 0; count < 3; count++) {
    replies += await peer.send(command.subarray(0, 9));
    redis.clock.advance(900_000);
    replies += await peer.send(command.subarray(9));
    redis.clock.advance(5_000_000);
    replies += await peer.turn();
  }
  expect([replies, peer.serverEnded]).toEqual(['+OK\r\n+OK\r\n+OK\r\n', false]);
  replies = await peer.send('PING\r\n');
  for (let at = 0; at < 4; at++) {
    replies += await peer.send(command.subarray(at, at + 1));
    redis.clock.advance(300_000);
    replies += await peer.turn();
  }
  expect([replies, peer.serverEnded]).toEqual([`+PONG\r\n${late}`, true]);
});

test('a command that waits for earlier ones is not late, nor are its followers', async () => {
  const redis = await TestingRedis.start({ messageUsMax: limitUs });
  const peer = redis.join();
  redis.dispatcher.holding = true;
  expect(await peer.send('GET a\r\nDBSIZE\r\nGE')).toBe('');
  redis.clock.advance(3_000_000);
  expect([await peer.turn(), peer.paused]).toEqual(['', true]);
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) await peer.turn();
  expect(await peer.send('T a\r\n')).toBe('$-1\r\n');
  expect(peer.serverEnded).toBe(false);
});

test('incomplete commands share one budget; small ones proceed, and a close releases its share', async () => {
  const redis = await TestingRedis.start({
    argumentBytesMax: 500_000,
    requestBytesMax: 500_000,
    connectionCountMax: 9,
  });
  const command = encodeRequest(['SET', 'a', 'x'.repeat(300_000)]);
  const most = command.subarray(0, 250_000);
  const [first, second, third] = [redis.join(), redis.join(), redis.join()];
  expect(await first.send(most)).toBe('');
  expect(await second.send(most)).toMatch(/^-OVERLOADED requests of all clients .* client_request_bytes_max/);
  expect([first.serverEnded, second.serverEnded]).toEqual([false, true]);
  expect(await third.ask('SET', 'b', 'small')).toBe('+OK\r\n');
  expect(await first.send(command.subarray(250_000))).toMatch(/^-ERR string exceeds/);
  expect(await third.send(most)).toBe('');
  await third.reset();
  expect(await redis.join().send(most)).toBe('');
});

/** Commands cut into pieces, with the client's pause before each piece. */
const conversation = fc
  .array(fc.array(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 0, maxLength: 2 }), {
    minLength: 1,
    maxLength: 5,
  })
  .chain((words) => {
    const wire = Buffer.concat(words.map((more) => encodeRequest(['ECHO', ...more])));
    const cut = fc.record({
      bytes: fc.integer({ min: 1, max: 40 }),
      silenceUs: fc.constantFrom(0, 1, 300_000, 999_999, 1_000_000, 1_000_001, 4_000_000),
    });
    return fc.record({
      wire: fc.constant(wire),
      lengths: fc.constant(words.map((more) => encodeRequest(['ECHO', ...more]).length)),
      cuts: fc.array(cut, { minLength: 1, maxLength: 60 }),
    });
  });

test('for any cuts and pauses, exactly the commands that were complete in time are answered', async () => {
  await fc.assert(
    fc.asyncProperty(conversation, async ({ wire, lengths, cuts }) => {
      const redis = await TestingRedis.start({ messageUsMax: limitUs });
      const peer = redis.join();
      let replies = '';
      let at = 0;
      for (const { bytes, silenceUs } of cuts) {
        redis.clock.advance(silenceUs);
        replies += await peer.turn();
        replies += await peer.send(wire.subarray(at, at + bytes));
        at = Math.min(wire.length, at + bytes);
      }
      redis.clock.advance(limitUs);
      replies += await peer.turn();
      const expected = model(lengths, cuts);
      expect(replies.split('\r\n').length - 1 - (replies.match(/\$/g)?.length ?? 0)).toBe(
        expected.answered + (expected.late ? 1 : 0),
      );
      expect(replies.endsWith(late)).toBe(expected.late);
      expect(peer.serverEnded).toBe(expected.late);
    }),
    { numRuns: 300 },
  );
});

/** The model: from bytes and times alone, which commands complete before one is late, and whether one is. */
function model(
  lengths: readonly number[],
  cuts: readonly { readonly bytes: number; readonly silenceUs: number }[],
): { readonly answered: number; readonly late: boolean } {
  const ends = lengths.map((_, index) =>
    lengths.slice(0, index + 1).reduce((sum, length) => sum + length, 0),
  );
  const total = ends.at(-1) ?? 0;
  let nowUs = 0;
  let heard = 0;
  let begunUs: number | undefined;
  for (const { bytes, silenceUs } of cuts) {
    nowUs += silenceUs;
    if (begunUs !== undefined && nowUs - begunUs >= limitUs) {
      return { answered: ends.filter((end) => end <= heard).length, late: true };
    }
    const before = heard;
    heard = Math.min(total, heard + bytes);
    const ended = ends.some((end) => end > before && end <= heard);
    const within = heard > 0 && !ends.includes(heard);
    if (!within) begunUs = undefined;
    else if (ended || begunUs === undefined) begunUs = nowUs;
  }
  const left = begunUs !== undefined;
  return { answered: ends.filter((end) => end <= heard).length, late: left };
}
