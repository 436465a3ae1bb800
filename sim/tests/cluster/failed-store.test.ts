/** Tests a node whose store has failed: it accepts no writes until it is restarted, and still answers reads. */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

test('a node whose disk is full answers reads and listings, and takes no writes', async () => {
  const room = new MemberHarness('full', 1);
  await room.startAll();
  expect((await room.ask('n1', 'PUT', '/buckets/b/keys/k', 'kept')).status).toBe(204);
  const full = room.cluster.host('n1').disk.inject({ kind: 'write-error', failure: 'noSpace' });
  for (const _ of [1, 2]) {
    const refused = await room.ask('n1', 'PUT', '/buckets/b/keys/k', 'lost');
    expect([refused.status, refused.headers['x-lockstep-error']]).toEqual([503, expect.any(String)]);
  }
  full.lift();
  const late = await room.ask('n1', 'PUT', '/buckets/b/keys/k', 'lost');
  expect(late.body.toString()).toContain('its store has failed and must be opened again');
  for (const query of ['', '?r=all', '?r=primary']) {
    const read = await room.ask('n1', 'GET', `/buckets/b/keys/k${query}`);
    expect([query, read.status, read.body.toString()]).toEqual([query, 200, 'kept']);
  }
  expect((await room.ask('n1', 'GET', '/buckets/b/keys?keys=true')).body.toString()).toBe('{"keys":["k"]}');
  expect((await room.ask('n1', 'GET', '/cluster')).body.toString()).toContain('"store":"failed"');
  await room.pass(second);
  expect(room.world.failures).toEqual([]);
});
