/** Tests of the binary protocol's requests about buckets: properties, listings, and the replicas of a key. */
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { expect, test } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType } from '../../base/object-key.ts';
import type { BucketProperties } from '../../buckets/properties.ts';
import { defaultProperties, withProperties } from '../../buckets/properties.ts';
import { readBucketProps, rpbBucketProps } from './bucket-properties.ts';
import type { RpbBucketProps } from './bucket-messages.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { messages, quorumNames } from './schema.ts';
import type { PbcPeer } from './peer.fixture.ts';
import { bucketsBytesMax } from './listing-calls.ts';
import { TestingServer } from './server.fixture.ts';

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');
const bucket = utf8('fruit');
const customKeyfun = { module: utf8('riak_core_util'), function: utf8('chash_custom_keyfun') };
const failed = { kind: 'failed', definite: true } as const;
/** Field numbers from here on are not Riak 2.2's; the first is `ttl` in a later client. */
const ttlField = 30;
const terms = { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => 3 } as const;

async function ask(peer: PbcPeer, ...requests: readonly ClientRequest[]): Promise<ClientReply[]> {
  await peer.request(...requests);
  return peer.replies();
}

function props(replies: readonly ClientReply[]): RpbBucketProps {
  const [reply] = replies;
  return reply?.kind === 'bucketProps' ? reply.message.props : {};
}

test('properties are set, read and reset, and invalid ones are refused', async () => {
  const peer = (await TestingServer.start()).join();
  expect(props(await ask(peer, { kind: 'getBucket', message: { bucket } }))).toMatchObject({
    n_val: 3,
    allow_mult: false,
    r: quorumNames.quorum,
    pr: 0,
    notfound_ok: true,
  });
  const set = {
    allow_mult: true,
    w: quorumNames.all,
    r: 1,
    chash_keyfun: customKeyfun,
    keyfun_module: utf8('by-owner'),
  };
  expect(await ask(peer, { kind: 'setBucket', message: { bucket, props: set } })).toEqual([
    { kind: 'bucketSet' },
  ]);
  const got = props(await ask(peer, { kind: 'getBucket', message: { bucket } }));
  expect(got).toMatchObject({ allow_mult: true, w: quorumNames.all, r: 1, chash_keyfun: customKeyfun });
  expect(Buffer.from(got.keyfun_module ?? []).toString()).toBe('by-owner');
  expect(await ask(peer, { kind: 'resetBucket', message: { bucket } })).toEqual([{ kind: 'bucketReset' }]);
  expect(props(await ask(peer, { kind: 'getBucket', message: { bucket } })).allow_mult).toBe(false);
  const failures = await ask(
    peer,
    { kind: 'setBucket', message: { bucket, props: { n_val: 5 } } },
    { kind: 'setBucket', message: { bucket, props: { datatype: utf8('counter') } } },
    { kind: 'getBucket', message: { bucket, type: utf8('cards') } },
    { kind: 'getBucket', message: { bucket: utf8('') } },
    { kind: 'getBucketType', message: { type: utf8('cards') } },
    { kind: 'setBucket', message: { bucket, props: { ttl: 60 } } },
  );
  expect(failures.map((reply) => (reply.kind === 'failed' ? reply.text.slice(0, 60) : reply.kind))).toEqual([
    'BadRequest: n_val: 5 given; allowed: 3, since every rack of ',
    'BadRequest: datatype is not a bucket property; allowed: n_va',
    'Unknown bucket type: cards',
    'Bucket cannot be zero-length',
    'Invalid bucket type: <<"cards">>',
    'BadRequest: ttl is not a bucket property; allowed: n_val, al',
  ]);
});

test('a bucket type is read and set in the form of Riak’s clients', async () => {
  const peer = (await TestingServer.start()).join();
  const type = utf8('maps');
  expect(
    await ask(peer, { kind: 'setBucketType', message: { type, props: { notfound_ok: false } } }),
  ).toEqual([{ kind: 'bucketSet' }]);
  expect(props(await ask(peer, { kind: 'getBucketType', message: { type } }))).toMatchObject({
    allow_mult: true,
    notfound_ok: false,
  });
});

test('a change of the type default, or of a type that does not exist, is refused with Riak’s texts', async () => {
  const peer = (await TestingServer.start()).join();
  const set = { notfound_ok: false };
  const refused = await ask(
    peer,
    { kind: 'setBucketType', message: { type: utf8('default'), props: set } },
    { kind: 'setBucketType', message: { type: utf8('cards'), props: set } },
    { kind: 'setBucketType', message: { type: utf8(''), props: set } },
    { kind: 'getBucketType', message: { type: utf8('') } },
  );
  expect(refused).toEqual([
    { ...failed, code: 'BadRequest', text: 'Invalid bucket properties: no_default_update' },
    { ...failed, code: 'NotFound', text: 'Invalid bucket properties: not_active' },
    { ...failed, code: 'NotFound', text: 'Invalid bucket properties: not_active' },
    { ...failed, code: 'NotFound', text: 'Invalid bucket type: <<>>' },
  ]);
  const [shown] = await ask(peer, { kind: 'getBucketType', message: { type: utf8('default') } });
  expect(shown).toMatchObject({ kind: 'bucketProps', message: { props: { notfound_ok: true } } });
});

test('an answer about properties has only Riak’s fields unless the bucket sets the product’s own', () => {
  const properties = (set: Readonly<Record<string, string | boolean>>): BucketProperties =>
    withProperties(defaultProperties, new Map(Object.entries(set)));
  const plain = [{}, { chash_keyfun: 'BUCKETONLY' }, { allow_mult: true }, { chash_keyfun: 'CUSTOM' }];
  for (const set of plain) expect(Math.max(...propertyFields(properties(set)))).toBeLessThan(ttlField);
  const custom = propertyFields(properties({ chash_keyfun: 'CUSTOM', wasm_keyfun: 'by-owner' }));
  expect(custom.filter((field) => field >= ttlField)).toEqual([50_001]);
});

test('an empty list of hooks, as Riak’s clients send it, sets nothing', () => {
  const empty = { has_precommit: true, has_postcommit: true, precommit: [], postcommit: [] };
  expect([...readBucketProps(empty, terms)]).toEqual([]);
  const hooks = { has_precommit: true, precommit: [{ name: utf8('validate') }] };
  expect(() => readBucketProps(hooks, terms)).toThrow('precommit');
});

test('properties as the server sends them can be set again and change nothing', () => {
  const given = fc.record({
    allow_mult: fc.boolean(),
    r: fc.constantFrom(1, 3, 'quorum', 'all', 'one'),
    pw: fc.constantFrom(0, 2),
    chash_keyfun: fc.constantFrom('STD', 'BUCKETONLY', 'CUSTOM'),
    small_vclock: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(given, (set) => {
      const properties = withProperties(defaultProperties, new Map(Object.entries(set)));
      const told = rpbBucketProps(properties, terms);
      const frame = messages.getBucketResp.encode({ props: told });
      const heard = messages.getBucketResp.decode(frame.subarray(5)).props;
      const again = withProperties(defaultProperties, readBucketProps(heard, terms));
      expect(rpbBucketProps(again, terms)).toEqual(told);
      expect(again).toMatchObject({ ...properties, w: 'quorum', dw: 'quorum', rw: 'quorum' });
    }),
  );
});

test('keys come in frames, the last of which is marked done', async () => {
  const testing = await TestingServer.start();
  testing.lister.names.set('fruit', ['apple', 'pear', 'plum']);
  const replies = await ask(testing.join(), { kind: 'listKeys', message: { bucket } }, { kind: 'ping' });
  expect(replies.map(textOf)).toEqual(['apple pear', 'plum', 'done', 'pong']);
});

test('buckets come in one frame, or as a stream on request', async () => {
  const testing = await TestingServer.start();
  for (const name of ['a', 'b', 'c']) testing.lister.names.set(name, ['k']);
  const peer = testing.join();
  expect((await ask(peer, { kind: 'listBuckets', message: {} })).map(textOf)).toEqual(['a b c']);
  const streamed = await ask(peer, { kind: 'listBuckets', message: { stream: true } });
  expect(streamed.map(textOf)).toEqual(['a b', 'c', 'done']);
});

test('names of buckets that are too many for one frame are refused, and come as a stream', async () => {
  const testing = await TestingServer.start();
  for (const name of ['a', 'b', 'c']) testing.lister.names.set(name.repeat(bucketsBytesMax / 2), ['k']);
  const peer = testing.join();
  const refused = await ask(peer, { kind: 'listBuckets', message: {} });
  expect(refused.map(textOf)).toEqual([
    'TooLarge: the names of the buckets have more than 8388608 bytes; list them with stream set',
  ]);
  const streamed = await ask(peer, { kind: 'listBuckets', message: { stream: true } });
  expect(streamed.map(textOf).map(({ length }) => length)).toEqual([
    bucketsBytesMax + 1,
    bucketsBytesMax / 2,
    4,
  ]);
});

test('a listing waits while its client does not read, and ends when the client disconnects', async () => {
  const testing = await TestingServer.start();
  testing.network.highWaterBytes = 100;
  testing.lister.names.set(
    'fruit',
    Array.from({ length: 100 }, (_, index) => `a rather long name of a key ${index}`),
  );
  const peer = testing.join();
  await peer.reads(false);
  await peer.request({ kind: 'listKeys', message: { bucket } });
  expect(testing.lister.pages).toBeLessThan(5);
  await peer.reset();
  expect(testing.lister.abandoned).toBe(1);
  const other = testing.join();
  expect((await ask(other, { kind: 'listKeys', message: { bucket } })).length).toBe(51);
});

test('a listing that fails midway ends with an error, and the connection stays usable', async () => {
  const testing = await TestingServer.start();
  testing.lister.names.set('fruit', ['apple', 'pear', 'plum']);
  testing.lister.failure = { error: new LockstepError('NoTargets', 'nobody holds them'), afterPages: 1 };
  const replies = await ask(testing.join(), { kind: 'listKeys', message: { bucket } }, { kind: 'ping' });
  expect(replies.map(textOf)).toEqual(['apple pear', 'NoTargets: nobody holds them', 'pong']);
});

test('set properties apply to later requests on the same connection', async () => {
  const testing = await TestingServer.start();
  await ask(
    testing.join(),
    { kind: 'setBucket', message: { bucket, props: { r: 3 } } },
    { kind: 'get', message: { bucket, key: utf8('k') } },
  );
  expect(testing.dispatcher.gets.map(({ need }) => need)).toEqual([3]);
  expect(testing.buckets.of(defaultType, byteStringOf('fruit')).r).toBe(3);
});

test('the replicas of a key come with its token', async () => {
  const [reply] = await ask((await TestingServer.start()).join(), {
    kind: 'preflist',
    message: { bucket, key: utf8('apple') },
  });
  const items = reply?.kind === 'preflist' ? (reply.message.preflist ?? []) : [];
  expect(
    items.map(({ partition, node, primary }) => [Number(partition), Buffer.from(node).toString(), primary]),
  ).toEqual([
    [7, 'n2', true],
    [7, 'n1', true],
  ]);
});

/** The field numbers of the message with these properties. */
function propertyFields(properties: BucketProperties): readonly number[] {
  const frame = messages.getBucketResp.encode({ props: rpbBucketProps(properties, terms) });
  const outer = protobuf.Reader.create(frame.subarray(5));
  outer.uint32();
  const reader = protobuf.Reader.create(outer.bytes());
  const fields: number[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    fields.push(tag >>> 3);
    reader.skipType(tag & 7);
  }
  return fields;
}

function textOf(reply: ClientReply): string {
  if (reply.kind === 'failed') return reply.text;
  if (reply.kind !== 'keys' && reply.kind !== 'buckets') return reply.kind;
  if (reply.message.done === true) return 'done';
  const names = reply.kind === 'keys' ? reply.message.keys : reply.message.buckets;
  return (names ?? []).map((name) => Buffer.from(name).toString()).join(' ');
}
