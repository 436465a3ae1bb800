/** Replays recorded conversations of several clients with redis-server and compares what each gets, byte by byte. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { RedisPeer } from '../redis.fixture.ts';
import { TestingRedis, encodeRequest } from '../redis.fixture.ts';
import { splitWords } from '../request-reader.ts';

const recorded = readFileSync(new URL('../testdata/redis-messages.txt', import.meta.url), 'utf8').split('\n');

/** What differs by nature: the id of a connection. */
function shown(bytes: string): string {
  return bytes.replace(/(\$2\r\nid\r\n):\d+/, '$1:1');
}

test('publishers and subscribers get the bytes of redis-server', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 10 });
  const peers = new Map<string, RedisPeer>();
  const differences: string[] = [];
  let compared = 0;
  for (const [index, line] of recorded.entries()) {
    const [, name, commands] = /^([a-z])> (.*)$/.exec(line) ?? [];
    if (name === undefined || commands === undefined) continue;
    const peer = peers.get(name) ?? redis.join();
    peers.set(name, peer);
    const requests = commands.split(' ;; ').map((one) => splitWords(Buffer.from(one)) ?? []);
    const got = new Map([[name, await peer.send(...requests.map(encodeRequest))]]);
    for (const [other, its] of peers) if (other !== name) got.set(other, await its.turn());
    if (peer.serverEnded) {
      got.set(name, `${got.get(name)}(closed)`);
      await peer.endClient();
      peers.delete(name);
    }
    const there: string[] = [];
    for (let at = index + 1; recorded[at]?.[1] === '<'; at++) there.push(recorded[at] ?? '');
    const here = [...got]
      .filter(([, bytes]) => bytes !== '')
      .toSorted(([one], [two]) => (one < two ? -1 : 1));
    const lines = here.map(([who, bytes]) => `${who}< ${JSON.stringify(bytes)}`);
    compared += there.length;
    if (shown(lines.map(unquoted).join('\n')) === shown(there.map(unquoted).join('\n'))) continue;
    differences.push([line, '  here', ...lines, '  there', ...there].join('\n'));
  }
  expect(differences).toEqual([]);
  expect(compared).toBeGreaterThan(180);
  expect(redis.failed).toEqual([]);
});

function unquoted(line: string): string {
  return line.slice(0, 3) + String(JSON.parse(line.slice(3)));
}
