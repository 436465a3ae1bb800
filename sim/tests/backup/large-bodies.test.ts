/** Requests over HTTP that hold more than the largest value: restored objects, transactions, modules. */
import { expect, it } from 'vitest';

import { encodeRestoreBatch } from '../../../engine/backup/restore-batch.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../../engine/base/object-key.ts';
import { plainContent } from '../../../engine/replica/object/content.ts';
import type { Actor } from '../../../engine/replica/object/dots.ts';
import { emptyVector } from '../../../engine/replica/object/dots.ts';
import { applyWrite, encodeObject } from '../../../engine/replica/object/object.ts';
import { JobHarness } from '../mapreduce/job-harness.ts';

const valueBytesMax = 65_536;

it('an object with the largest value is restored, a batch of small ones, and a transaction of several large ones', async () => {
  const room = new JobHarness('bodies', { value_bytes_max: valueBytesMax });
  await room.start();
  const objectOf = (name: string, value: Buffer): { key: never; bytes: Buffer } => {
    const dot = { actor: byteStringOf('n9.1') as Actor, counter: 7 };
    const object = applyWrite(undefined, emptyVector, plainContent(value, 'text/plain'), dot, 0);
    const { packed } = objectKey(defaultType, byteStringOf('b'), byteStringOf(name));
    return { key: packed as never, bytes: encodeObject(object) };
  };
  const large = Buffer.alloc(valueBytesMax, 'x');
  const batches = [
    [objectOf('large', large)],
    Array.from({ length: 200 }, (_, index) => objectOf(`small${index}`, Buffer.alloc(1000, 'y'))),
  ];
  const send = async (path: string, type: string, body: Buffer): Promise<number> => {
    const address = room.cluster.address('n1', 'http');
    const sent = room.world
      .httpClient(room.visitor)
      .request(address, { method: 'POST', path, headers: { 'Content-Type': type }, body }, 20_000_000);
    await room.world.runUntil(sent, 20_000_000);
    return (await sent).status;
  };
  for (const batch of batches)
    expect(await send('/backup/restore', 'application/octet-stream', encodeRestoreBatch(batch))).toBe(200);
  const read = await room.call('n2', 'GET', '/buckets/b/keys/large');
  expect([read.status, read.text === large.toString()]).toEqual([200, true]);
  const operations = ['one', 'two', 'three'].map((key) => {
    return { op: 'put', bucket: 'b', key, value: large.toString('base64'), encoding: 'base64' };
  });
  expect(await send('/transactions', 'application/json', Buffer.from(JSON.stringify({ operations })))).toBe(
    200,
  );
  // A value by itself is limited as ever.
  const tooLarge = await room.call('n1', 'PUT', '/buckets/b/keys/k', {
    headers: { 'Content-Type': 'text/plain' },
    body: `${large.toString()}x`,
  });
  expect([tooLarge.status, tooLarge.text]).toEqual([
    413,
    'the value has 65537 bytes; at most 65536 are allowed\n',
  ]);
  expect(room.world.failures).toEqual([]);
});
