import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { BytesError } from '../../base/bytes.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import { consistencyLevels } from '../../replication/requests.ts';
import type { Content } from '../../replica/object/content.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import type { NamedRecord } from './idempotency-records.ts';
import { decodeName, encodeName, readClient, writeClient } from './idempotency-records.ts';
import { readBranch, readDecision, writeBranch, writeDecision } from './records.ts';
import type { PrepareRequest, BranchReply, BranchRequest } from './messages.ts';
import { decodeReply, decodeRequest, encodeReply, encodeRequest, orderBytesOf } from './messages.ts';
import type { Xid } from './xid.ts';
import { makeXid } from './xid.fixture.ts';
import { coordinatorOf, parseXid } from './xid.ts';

const name = fc.uint8Array({ minLength: 1, maxLength: 12 }).map(byteStringFrom);
const node = fc.constantFrom('n1', 'n2', 'a.b-c_d') as fc.Arbitrary<NodeId>;
const xid = fc.tuple(node, fc.nat()).map(([one, counter]) => makeXid(one, '0123456789ab', counter));
const vector = fc.option(
  fc.nat({ max: 1000 }).map((counter) => [{ actor: 'n1.aa' as Actor, counter: counter + 1 }]),
  { nil: undefined },
);
const content: fc.Arbitrary<Content> = fc.oneof(
  fc.constant({ ...tombstone, value: Buffer.alloc(0) }),
  fc
    .uint8Array({ maxLength: 40 })
    .map((value) => ({ ...tombstone, tombstone: false, value: Buffer.from(value) })),
);
const operation = fc.record({
  key: fc.tuple(name, name, name).map(([type, bucket, key]) => objectKey(type, bucket, key).packed),
  token: fc.nat() as fc.Arbitrary<Token>,
  content,
  context: vector,
  ifMatch: vector,
  ifAbsent: fc.boolean(),
  check: fc.boolean(),
});
const order: fc.Arbitrary<PrepareRequest> = fc.record({
  coordinator: node,
  level: fc.constantFrom(...consistencyLevels),
  clientId: fc.string({ maxLength: 12, unit: 'grapheme' }),
  clientDigest: name,
  branches: fc.array(fc.record({ node, writes: fc.boolean(), life: fc.nat() }), { maxLength: 4 }),
  operations: fc.array(operation, { maxLength: 4 }),
});
const named: fc.Arbitrary<NamedRecord> = fc.record({
  clientId: fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }),
  xid,
  digest: name,
  sinceMs: fc.nat(),
  tokens: fc.array(fc.nat() as fc.Arbitrary<Token>, { maxLength: 5 }),
});
const request: fc.Arbitrary<BranchRequest> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('prepare' as const, 'commitAlone' as const, 'put' as const),
    xid,
    order,
  }),
  fc.record({
    kind: fc.constant('redo' as const),
    xid,
    order,
    mark: fc.oneof(
      fc.constant(''),
      fc.nat().map((counter) => `n1.5f0c8e12ab34 ${counter}`),
    ),
  }),
  fc.record({ kind: fc.constant('reborn' as const), node, life: fc.nat() }),
  node.map((name) => ({ kind: 'inherit' as const, node: name, replacement: `${name}x` as NodeId })),
  fc.record({
    kind: fc.constantFrom('commit' as const, 'rollback' as const, 'status' as const, 'waits' as const),
    xid,
  }),
  fc.record({ kind: fc.constantFrom('inquire' as const, 'inquirePut' as const), xid, life: fc.nat() }),
  fc.record({ kind: fc.constant('forget' as const), xids: fc.array(xid, { maxLength: 5 }) }),
  fc.record({ kind: fc.constant('needed' as const), node, xids: fc.array(xid, { maxLength: 5 }) }),
  named.map(({ clientId }) => ({ kind: 'recall' as const, clientId })),
  named.map(({ clientId, tokens: [from = 0, to = 7] }) => {
    return { kind: 'names' as const, from: from as Token, to: to as Token, after: clientId };
  }),
  fc.uint8Array({ maxLength: 40 }).map((batch) => ({ kind: 'adopt' as const, batch: Buffer.from(batch) })),
  fc.record({ kind: fc.constant('learn' as const), names: fc.array(named, { maxLength: 4 }) }),
);
const reply: fc.Arbitrary<BranchReply> = fc.oneof(
  fc.record({
    kind: fc.constant('voted' as const),
    vote: fc.constantFrom('commit' as const, 'readOnly' as const, 'abort' as const, 'doubtful' as const),
    reason: fc.constantFrom('conflict' as const, 'no_targets' as const),
    detail: fc.string({ unit: 'grapheme' }),
    earlier: fc.option(
      fc.record({ xid, state: fc.constantFrom('committed' as const, 'undecided' as const) }),
      {
        nil: undefined,
      },
    ),
  }),
  fc.record({ kind: fc.constant('ended' as const), met: fc.boolean() }),
  fc.record({
    kind: fc.constant('told' as const),
    state: fc.constantFrom('none' as const, 'aborted' as const, 'forgotten' as const),
  }),
  fc.record({
    kind: fc.constant('bequeathed' as const),
    open: fc.boolean(),
    holds: fc.boolean(),
    whole: fc.boolean(),
    heard: fc.array(node, { maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('named' as const),
    more: fc.boolean(),
    names: fc.array(named, { maxLength: 4 }),
  }),
);

/** Decodes the bytes, or expects a `BytesError`; nothing else may be thrown. */
function refusesOrReads(read: (bytes: Uint8Array) => unknown): (bytes: Uint8Array) => void {
  return (bytes) => {
    try {
      read(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(BytesError);
    }
  };
}

describe('the messages of transactions', () => {
  it('encode a prepare request in the same bytes as its record', () => {
    fc.assert(
      fc.property(xid, order, fc.nat(), (name, asked, sinceMs) => {
        const words = encodeRequest({ kind: 'prepare', xid: name, order: asked });
        const record = { state: 'prepared' as const, sinceMs, order: asked, places: [] };
        expect(writeBranch(name, record, orderBytesOf(words, name))).toEqual(writeBranch(name, record));
      }),
      { numRuns: 50 },
    );
  });

  it('decode to what was encoded', () => {
    fc.assert(
      fc.property(request, reply, (asked, answered) => {
        expect(decodeRequest(encodeRequest(asked))).toEqual(asked);
        expect(decodeReply(encodeReply(answered))).toEqual(answered);
      }),
    );
  });

  it('are refused when truncated', () => {
    fc.assert(
      fc.property(request, fc.nat(), (said, at) => {
        const bytes = encodeRequest(said);
        expect(() => decodeRequest(bytes.subarray(0, at % bytes.length))).toThrow(BytesError);
      }),
    );
  });

  it('are refused or decode to a valid message when the bytes are arbitrary', () => {
    const bytes = fc.uint8Array({ maxLength: 80 });
    const likely = bytes.map((rest) => Uint8Array.from([3, (rest[0] ?? 0) % 16, ...rest]));
    const readers = [decodeRequest, decodeReply, readBranch, readDecision, readClient, decodeName];
    for (const read of readers) fc.assert(fc.property(fc.oneof(bytes, likely), refusesOrReads(read)));
  });
});

describe('the records of transactions', () => {
  it('decode to what was written', () => {
    const state = fc.constantFrom('prepared' as const, 'applied' as const, 'heuristicRolledBack' as const);
    fc.assert(
      fc.property(xid, order, state, fc.nat(), (one, its, was, sinceMs) => {
        const places = its.operations.map(({ key, token }) => ({ key, token }));
        const record = { state: was, sinceMs, order: its, places };
        expect(readBranch(writeBranch(one, record).value ?? Buffer.alloc(0))).toEqual(record);
        const own = places.length === 0 ? undefined : { level: its.level, places };
        const branches = its.branches.map((branch) => ({ node: branch.node, readOnly: branch.writes }));
        const decision = { state: 'committing' as const, sinceMs, operationCount: 3, branches, own };
        expect(readDecision(writeDecision(one, decision).value ?? Buffer.alloc(0))).toEqual(decision);
      }),
    );
  });

  it('of idempotency keys decode to what was written, and so do their messages', () => {
    fc.assert(
      fc.property(named, (one) => {
        const { clientId, ...record } = one;
        expect(readClient(writeClient(one).value ?? Buffer.alloc(0))).toEqual(record);
        expect(decodeName(encodeName(one))).toEqual({ clientId, ...record });
      }),
    );
  });

  it('of idempotency keys longer than the limit are refused', () => {
    const one = { clientId: 'x'.repeat(600), xid: makeXid('n1' as NodeId, '0123456789ab', 7), sinceMs: 1 };
    const words = encodeName({ ...one, digest: 'd' as ByteString, tokens: [] });
    expect(() => decodeName(words)).toThrow(BytesError);
  });
});

describe('transaction ids', () => {
  it('name their coordinator, and other texts name none', () => {
    fc.assert(
      fc.property(xid, (one) => {
        expect(parseXid(one)).toBe(one);
        expect(['n1', 'n2', 'a.b-c_d']).toContain(coordinatorOf(one));
      }),
    );
    for (const text of [
      '',
      'n1',
      'n1-0123456789ab',
      'n1-0123456789ab-',
      'n 1-0123456789ab-1',
      '-0123456789ab-1',
    ])
      expect(parseXid(text as ByteString as Xid)).toBe(undefined);
  });
});
