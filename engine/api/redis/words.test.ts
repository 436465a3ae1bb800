/** Replays a recorded conversation with redis-server and compares every reply byte by byte. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { splitWords } from './request-reader.ts';
import { TestingRedis } from './redis.fixture.ts';

const recorded = readFileSync(new URL('testdata/redis-words.txt', import.meta.url), 'utf8').split('\n');

test('every command gets the reply of redis-server', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const differences: string[] = [];
  let compared = 0;
  for (const [index, line] of recorded.entries()) {
    if (!line.startsWith('> ')) continue;
    const words = splitWords(Buffer.from(line.slice(2))) ?? [];
    const reply = await peer.ask(...words);
    const wanted: unknown = JSON.parse(recorded[index + 1] ?? '""');
    compared += 1;
    if (reply !== wanted)
      differences.push(`${line}\n  here ${JSON.stringify(reply)}\n  there ${JSON.stringify(wanted)}`);
  }
  expect(differences).toEqual([]);
  expect(compared).toBeGreaterThan(200);
  expect(redis.failed).toEqual([]);
});
