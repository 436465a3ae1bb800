/** Clients whose credentials are limited, over the binary protocol: to some buckets, and to a rate. */
import { expect, test } from 'vitest';

import { limitedCredential, limitedToken } from '../../auth/credentials.fixture.ts';
import type { Credential } from '../../auth/credentials.ts';
import { scriptedXid } from '../testing/scripted-transactions.fixture.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import type { PbcPeer } from './peer.fixture.ts';
import { TestingServer } from './server.fixture.ts';

const own = { bucket: Buffer.from('shop:a'), key: Buffer.from('k') };
const theirs = { bucket: Buffer.from('other'), key: Buffer.from('k') };
const content = { value: Buffer.from('v') };
const json = Buffer.from('application/json');

function job(text: string): ClientRequest {
  return { kind: 'mapReduce', message: { content_type: json, request: Buffer.from(text) } };
}

async function joined(
  credential: Credential,
): Promise<{ readonly testing: TestingServer; readonly peer: PbcPeer }> {
  const testing = await TestingServer.start({}, [credential]);
  const peer = testing.join();
  const password = Buffer.from(limitedToken);
  await peer.request({ kind: 'auth', message: { user: Buffer.from('lena'), password } });
  await peer.turn();
  peer.replies();
  return { testing, peer };
}

function story(peer: PbcPeer): readonly string[] {
  return peer.replies().map((reply: ClientReply) => {
    return reply.kind === 'failed' ? (reply.code ?? reply.text) : reply.kind;
  });
}

const beyondReach: readonly ClientRequest[] = [
  { kind: 'get', message: theirs },
  { kind: 'put', message: { ...theirs, content } },
  { kind: 'delete', message: theirs },
  { kind: 'getBucket', message: { bucket: theirs.bucket } },
  { kind: 'setBucket', message: { bucket: theirs.bucket, props: { allow_mult: true } } },
  { kind: 'resetBucket', message: { bucket: theirs.bucket } },
  { kind: 'setBucketType', message: { type: Buffer.from('default'), props: { allow_mult: true } } },
  { kind: 'listKeys', message: { bucket: theirs.bucket } },
  { kind: 'preflist', message: theirs },
  {
    kind: 'transaction',
    message: {
      operations: [
        { ...own, content },
        { ...theirs, content },
      ],
    },
  },
  job('{"inputs":"other","query":[]}'),
  job('{"inputs":[["shop:a","k"],["other","k"]],"query":[]}'),
];

test('every message that names a bucket out of reach is refused, wherever it names it', async () => {
  const { testing, peer } = await joined(limitedCredential('admin', 'bucket=shop:*'));
  for (const request of beyondReach) {
    await peer.request(request);
    await peer.turn();
    expect([request.kind, story(peer).at(-1)]).toEqual([
      request.kind,
      request.kind === 'setBucketType' ? 'BadRequest' : 'Forbidden',
    ]);
  }
  expect(testing.dispatcher.puts).toEqual([]);
  expect(testing.transactions.requests).toEqual([]);
  expect(testing.jobs.started).toEqual([]);
  expect(testing.jobs.refusals).toBe(2);
});

test('what is in reach is served', async () => {
  const { testing, peer } = await joined(limitedCredential('write', 'bucket=shop:*'));
  await peer.request(
    { kind: 'put', message: { ...own, content } },
    { kind: 'transaction', message: { operations: [{ ...own, content }] } },
    job('{"inputs":"shop:a","query":[]}'),
  );
  await peer.turn();
  expect(testing.dispatcher.puts).toHaveLength(1);
  expect(testing.transactions.requests).toHaveLength(1);
  expect(testing.jobs.started).toHaveLength(1);
});

test('a phase may not name inputs out of reach for the next one, and that counts as one refusal', async () => {
  const { testing, peer } = await joined(limitedCredential('read', 'bucket=shop:*'));
  await peer.request(job('{"inputs":"shop:a","query":[]}'));
  await peer.turn();
  const refusalOf = testing.jobs.started[0]?.refusalOf;
  const input = { type: 'default', key: 'k', keydata: undefined };
  expect(refusalOf?.({ ...input, bucket: 'shop:b' } as never)).toBeUndefined();
  for (let time = 0; time < 2; time++)
    expect(refusalOf?.({ ...input, bucket: 'other' } as never)?.code).toBe('Forbidden');
  expect(testing.gate.family.collect().map(({ value }) => value)).toContain(1);
});

test('why a transaction was aborted is not said, since it may name a key out of reach', async () => {
  const { testing, peer } = await joined(limitedCredential('read', 'bucket=shop:*'));
  const detail = 'other/k has changed';
  testing.transactions.known.set(scriptedXid, {
    ...{ kind: 'aborted', xid: scriptedXid, reason: 'precondition_failed', detail },
  });
  await peer.request({ kind: 'transactionGet', message: { transaction_id: Buffer.from(scriptedXid) } });
  await peer.turn();
  const [reply] = peer.replies();
  expect(reply).toMatchObject({ message: { reason: Buffer.from('precondition_failed') } });
  expect(reply).not.toHaveProperty('message.detail', Buffer.from(detail));
});

test('a request beyond the rate gets an error answer, and the connection goes on', async () => {
  const { testing, peer } = await joined(limitedCredential('read', 'rate=2'));
  await peer.request(
    { kind: 'get', message: own },
    { kind: 'get', message: own },
    { kind: 'get', message: own },
  );
  await peer.turn();
  expect(story(peer)).toEqual(['got', 'got', 'RateLimited']);
  testing.clock.advance(1_000_000);
  await peer.request({ kind: 'get', message: own });
  await peer.turn();
  expect(story(peer)).toEqual(['got']);
});

test('what an admin asked for is logged with its outcome', async () => {
  const { testing, peer } = await joined(limitedCredential('admin', 'bucket=shop:*'));
  await peer.request(
    { kind: 'resetBucket', message: { bucket: own.bucket } },
    { kind: 'resetBucket', message: { bucket: theirs.bucket } },
    { kind: 'get', message: own },
  );
  await peer.turn();
  const audited = testing.log.events.filter(({ name }) => name === 'audit.admin.requested');
  expect(audited.map(({ fields }) => [fields['name'], fields['what'], fields['outcome']]).toSorted()).toEqual(
    [
      ['lena', 'resetBucketReq', 'Forbidden'],
      ['lena', 'resetBucketReq', 'done'],
    ],
  );
});
