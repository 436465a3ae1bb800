/** Tests of the binary protocol's requests over a dispatcher with a map. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import type {
  RpbContent,
  RpbDelReq,
  RpbGetReq,
  RpbGetResp,
  RpbPutReq,
  RpbPutResp,
} from './object-messages.ts';
import { quorumNames } from './schema.ts';
import { TestingServer } from './server.fixture.ts';
import type { PbcPeer } from './peer.fixture.ts';

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const bucket = utf8('b');
const key = utf8('k');
const named = { bucket, key };

function get(message: Partial<RpbGetReq> = {}): ClientRequest {
  return { kind: 'get', message: { ...named, ...message } };
}

function put(value: string, message: Partial<RpbPutReq> = {}): ClientRequest {
  return { kind: 'put', message: { ...named, content: { value: utf8(value) }, ...message } };
}

function del(message: Partial<RpbDelReq> = {}): ClientRequest {
  return { kind: 'delete', message: { ...named, ...message } };
}

async function ask(peer: PbcPeer, request: ClientRequest): Promise<ClientReply> {
  await peer.request(request);
  const replies = peer.replies();
  expect(replies.length).toBe(1);
  return replies[0] ?? { kind: 'failed', code: undefined, text: 'no answer', definite: false };
}

async function fetch(peer: PbcPeer, message: Partial<RpbGetReq> = {}): Promise<RpbGetResp> {
  const reply = await ask(peer, get(message));
  expect(reply.kind).toBe('got');
  return reply.kind === 'got' ? reply.message : {};
}

async function store(peer: PbcPeer, value: string, message: Partial<RpbPutReq> = {}): Promise<RpbPutResp> {
  const reply = await ask(peer, put(value, message));
  expect(reply.kind).toBe('stored');
  return reply.kind === 'stored' ? reply.message : {};
}

function valuesOf(message: RpbGetResp | RpbPutResp): string[] {
  return (message.content ?? []).map(({ value, deleted }) =>
    deleted === true ? 'deleted' : Buffer.from(value).toString(),
  );
}

async function failure(peer: PbcPeer, request: ClientRequest): Promise<string> {
  const reply = await ask(peer, request);
  return reply.kind === 'failed' ? `${reply.code ?? 'no code'} | ${reply.text}` : reply.kind;
}

test('ping, server info and the client id are answered', async () => {
  const peer = (await TestingServer.start()).join();
  expect(await ask(peer, { kind: 'ping' })).toEqual({ kind: 'pong' });
  expect(await ask(peer, { kind: 'getServerInfo' })).toEqual({
    kind: 'serverInfo',
    node: 'n1',
    version: '0.1.0',
  });
  expect(await ask(peer, { kind: 'getClientId' })).toEqual({ kind: 'clientId', clientId: Buffer.alloc(4) });
  expect(await ask(peer, { kind: 'setClientId', clientId: utf8('mine') })).toEqual({ kind: 'clientIdSet' });
  const long = await ask(peer, { kind: 'setClientId', clientId: utf8('x'.repeat(1025)) });
  expect(long).toMatchObject({ kind: 'failed', text: 'A client id has at most 1024 bytes' });
  expect(await ask(peer, { kind: 'getClientId' })).toEqual({ kind: 'clientId', clientId: utf8('mine') });
});

test('a get after a put returns the same bytes, content fields, metadata and links', async () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((array) => Buffer.from(array));
  const content: fc.Arbitrary<RpbContent> = fc.record({
    value: bytes,
    content_type: bytes,
    charset: bytes,
    content_encoding: bytes,
    links: fc.array(fc.record({ bucket: bytes, key: bytes, tag: bytes }), { maxLength: 3 }),
    usermeta: fc.array(fc.record({ key: bytes, value: bytes }), { maxLength: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(content, bytes, bytes, async (given, anyBucket, anyKey) => {
      const peer = (await TestingServer.start()).join();
      const name = { bucket: anyBucket, key: anyKey };
      await ask(peer, { kind: 'put', message: { ...name, content: given } });
      const { content: [got] = [] } = await fetch(peer, name);
      expect({ ...got }).toMatchObject({ ...given });
      expect(got?.vtag?.length).toBe(12);
      expect(got?.last_mod).toBe(784_111_777);
    }),
    { numRuns: 100 },
  );
});

test('entries of secondary indexes come back as written, separate from the metadata', async () => {
  const peer = (await TestingServer.start()).join();
  const indexes = [
    { key: utf8('age_int'), value: utf8('7') },
    { key: utf8('tag_bin'), value: utf8('red') },
    { key: utf8('tag_bin'), value: utf8('round') },
  ];
  const usermeta = [{ key: utf8('grown-in'), value: utf8('Kent') }];
  await ask(peer, {
    kind: 'put',
    message: { bucket, key, content: { value: utf8('v'), indexes, usermeta } },
  });
  const { content: [got] = [] } = await fetch(peer, { key });
  expect(got).toMatchObject({ indexes, usermeta });
});

test('a missing key is made by the server and returned', async () => {
  const peer = (await TestingServer.start()).join();
  const stored = await ask(peer, { kind: 'put', message: { bucket, content: { value: utf8('v') } } });
  const made = stored.kind === 'stored' ? stored.message.key : undefined;
  expect(made?.length).toBe(24);
  expect(valuesOf(await fetch(peer, { key: made ?? key }))).toEqual(['v']);
});

test('a head has everything but the values', async () => {
  const peer = (await TestingServer.start()).join();
  await store(peer, 'value');
  const head = await fetch(peer, { head: true });
  expect(valuesOf(head)).toEqual(['']);
  expect(head.content?.[0]?.vtag?.length).toBe(12);
  expect(valuesOf(await store(peer, 'v', { return_head: true }))).toEqual(['', '']);
});

test('concurrent writes leave siblings, and a write with their context replaces them', async () => {
  const peer = (await TestingServer.start()).join();
  await store(peer, 'left');
  expect(valuesOf(await store(peer, 'right', { return_body: true }))).toEqual(['left', 'right']);
  const { vclock } = await fetch(peer);
  await store(peer, 'settled', { vclock });
  expect(valuesOf(await fetch(peer))).toEqual(['settled']);
});

test('a deleted object reads as missing, except for its context on request', async () => {
  const peer = (await TestingServer.start()).join();
  expect(await fetch(peer, { deletedvclock: true })).toMatchObject({
    vclock: undefined,
    unchanged: undefined,
  });
  await store(peer, 'v');
  expect(await ask(peer, del())).toEqual({ kind: 'deleted' });
  expect((await fetch(peer)).vclock).toBeUndefined();
  const { vclock, content } = await fetch(peer, { deletedvclock: true });
  expect([vclock?.length, content]).toEqual([9, []]);
  expect(await ask(peer, del())).toEqual({ kind: 'deleted' });
  expect(await ask(peer, del({ key: utf8('never') }))).toEqual({ kind: 'deleted' });
});

test('a deletion replaces the versions in its context and is a sibling of others', async () => {
  const peer = (await TestingServer.start()).join();
  await store(peer, 'old');
  const { vclock } = await fetch(peer);
  await store(peer, 'new');
  await ask(peer, del({ vclock }));
  expect(valuesOf(await fetch(peer))).toEqual(['new', 'deleted']);
});

test('if_modified answers unchanged for an object with that context', async () => {
  const peer = (await TestingServer.start()).join();
  await store(peer, 'v');
  const { vclock } = await fetch(peer);
  const unchanged = await fetch(peer, { if_modified: vclock });
  expect([unchanged.unchanged, unchanged.content]).toEqual([true, []]);
  await store(peer, 'w', { vclock });
  expect(valuesOf(await fetch(peer, { if_modified: vclock }))).toEqual(['w']);
});

test('a failed condition is answered as such though the key cannot be read afterwards', async () => {
  const server = await TestingServer.start();
  const peer = server.join();
  await store(peer, 'v');
  const { vclock } = await fetch(peer);
  await store(peer, 'w', { vclock });
  server.dispatcher.get = () => Promise.reject(new LockstepError('NoQuorum', 'too few'));
  for (const stated of [{}, { vclock }])
    expect(await failure(peer, put('x', { if_not_modified: true, ...stated }))).toBe(
      'PreconditionFailed | modified',
    );
});

test('the read behind a failed condition gets what is left of the time', async () => {
  const server = await TestingServer.start();
  const peer = server.join();
  await store(peer, 'v');
  const { vclock } = await fetch(peer);
  server.dispatcher.put = () => {
    server.clock.advance(300_000);
    return Promise.reject(new LockstepError('PreconditionFailed', 'other context'));
  };
  await failure(peer, put('v', { if_not_modified: true, vclock, timeout: 1000 }));
  expect(server.dispatcher.gets.at(-1)?.timeoutMs).toBe(700);
});

test('failed conditions have texts of Riak', async () => {
  const peer = (await TestingServer.start()).join();
  expect(await failure(peer, put('v', { if_not_modified: true }))).toBe('PreconditionFailed | notfound');
  await store(peer, 'v', { if_none_match: true });
  expect(await failure(peer, put('w', { if_none_match: true }))).toBe('PreconditionFailed | match_found');
  expect(await failure(peer, put('w', { if_not_modified: true }))).toBe('PreconditionFailed | modified');
  const { vclock } = await fetch(peer);
  await store(peer, 'w', { if_not_modified: true, vclock });
  expect(await failure(peer, put('x', { if_not_modified: true, vclock }))).toBe(
    'PreconditionFailed | modified',
  );
  expect(await failure(peer, put('x', { key: utf8('o'), if_not_modified: true, vclock }))).toBe(
    'PreconditionFailed | notfound',
  );
  expect(valuesOf(await fetch(peer))).toEqual(['w']);
});

test('the quorum fields become one need, from counts and from numbers that stand for words', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const reads: [Partial<RpbGetReq>, unknown][] = [
    [{}, 'default'],
    [{ r: 2 }, 2],
    [{ r: quorumNames.one }, 'one'],
    [{ r: quorumNames.quorum }, 'quorum'],
    [{ r: quorumNames.all }, 'all'],
    [{ r: quorumNames.default, pr: quorumNames.default }, 'default'],
    [{ r: 0 }, 'one'],
    [{ r: 1, pr: quorumNames.all }, 'all'],
    [{ node_confirms: 3 }, 3],
  ];
  for (const [message] of reads) await fetch(peer, message);
  expect(testing.dispatcher.gets.map((one) => one.need)).toEqual(reads.map(([, need]) => need));
  await store(peer, 'v', { w: 1, dw: 2, timeout: 250 });
  await store(peer, 'v', { pw: quorumNames.all, timeout: 0 });
  await ask(peer, del({ rw: 3 }));
  expect(testing.dispatcher.puts.map((one) => [one.need, one.timeoutMs])).toEqual([
    [2, 250],
    ['all', undefined],
    [3, undefined],
  ]);
  expect(testing.dispatcher.gets.at(-1)?.need).toBe(3);
});

test('absence is confirmed by so many replicas that no quorum of copies can be left', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  await fetch(peer, { notfound_ok: false });
  await fetch(peer, { notfound_ok: false, r: 1 });
  await fetch(peer, { notfound_ok: false, r: 1, basic_quorum: true });
  await fetch(peer, { notfound_ok: true, r: 1 });
  expect(testing.dispatcher.gets.map((one) => one.need)).toEqual(['default', 1, 3, 1, 2, 1]);
  await store(peer, 'v');
  testing.dispatcher.gets.length = 0;
  await fetch(peer, { notfound_ok: false, r: 1 });
  expect(testing.dispatcher.gets.length).toBe(1);
});

test('unsupported options are refused, and the connection stays usable', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const content = { value: utf8('v') };
  const refusals: [ClientRequest, string][] = [
    [get({ bucket: utf8('') }), 'BadRequest | Bucket cannot be zero-length'],
    [get({ key: utf8('') }), 'BadRequest | Key cannot be zero-length'],
    [get({ type: utf8('') }), 'BadRequest | Type cannot be zero-length'],
    [get({ type: utf8('sets') }), 'NotFound | Unknown bucket type: sets'],
    [get({ r: 4 }), 'BadRequest | BadRequest: 4 replicas were asked for; there are 3'],
    [
      get({ n_val: 2 }),
      'BadRequest | BadRequest: not supported: n_val=2: this datacenter keeps 3 copies, one per rack',
    ],
    [
      put('v', { asis: true }),
      'BadRequest | BadRequest: not supported: asis: every write gets a version of its own',
    ],
    [
      put('v', { vclock: utf8('no') }),
      'BadRequest | BadRequest: vclock is not a causal context that this cluster gave out',
    ],
    [
      put('v', { content: { ...content, deleted: true } }),
      'BadRequest | BadRequest: a put stores a value; RpbDelReq deletes',
    ],
    [put('x'.repeat(10_001)), 'TooLarge | TooLarge: the value has 10001 bytes; at most 10000 are allowed'],
  ];
  for (const [request, text] of refusals) expect(await failure(peer, request)).toBe(text);
  await peer.send(Buffer.of(0, 0, 0, 1, 99), Buffer.of(0, 0, 0, 2, 9, 255));
  expect(peer.replies().map((reply) => (reply.kind === 'failed' ? reply.text : reply.kind))).toEqual([
    'Unknown message code: 99',
    expect.stringContaining('BadRequest: RpbGetReq does not decode'),
  ]);
  expect(await ask(peer, { kind: 'ping' })).toEqual({ kind: 'pong' });
  expect(testing.observer.counts.get('failed')).toBe(refusals.length + 2);
});

test('errors of the cluster carry their code, and a timeout has the text of Riak', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const codes: [ErrorCode, string][] = [
    ['Timeout', 'timeout'],
    ['NoQuorum', 'NoQuorum: 1 of 2'],
    ['Overloaded', 'Overloaded: 1 of 2'],
    ['StorageFailed', 'StorageFailed: 1 of 2'],
  ];
  for (const [code, text] of codes) {
    testing.dispatcher.failure = new LockstepError(code, '1 of 2');
    expect(await failure(peer, get())).toBe(`${code} | ${text}`);
    expect(await failure(peer, put('v'))).toBe(`${code} | ${text}`);
    expect(await failure(peer, del())).toBe(`${code} | ${text}`);
  }
  expect(testing.observer.describe()).toBe('opened 1, read 4, failed 12, write 8, dropped 3');
});
