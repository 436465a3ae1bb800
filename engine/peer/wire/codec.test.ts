import { createHash } from 'node:crypto';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ErrorFacts } from '../../base/errors.ts';
import { errorCodes } from '../../base/errors.ts';
import type { ByteString, NodeId, Token } from '../../base/ids.ts';
import { byteStringFrom, bytesOf } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import { encodeBody } from './bodies.ts';
import { decodeReply, decodeRequest, encodeReply, encodeRequest } from './codec.ts';
import { FrameArena } from './frame-arena.ts';
import type { Frame } from './frames.ts';
import { FrameDecoder, FrameError } from './frames.ts';
import { decodeGreeting, encodeHello, encodeRefusal, refusalReasons } from './greetings.ts';
import { replyKinds, requestKinds } from './kinds.ts';
import type { Hello, PeerReply, PeerRequest } from './messages.ts';
import { digestBytes } from './messages.ts';
import { schemaType } from './schema.ts';

const limits = { frameBytesMax: 1 << 20, chunkBytes: 16 * 1024 };
const arena = new FrameArena(limits);

const byteString = (lengthMax: number): fc.Arbitrary<ByteString> =>
  fc.uint8Array({ minLength: 1, maxLength: lengthMax }).map((bytes) => byteStringFrom(bytes));
const key = fc
  .tuple(byteString(20), byteString(60), byteString(400))
  .map(([type, bucket, name]) => objectKey(type, bucket, name).packed);
const token = fc.integer({ min: 0, max: 0xffffffff }).map((value) => value as Token);
const bytes = fc.uint8Array({ maxLength: 300 });

const request: fc.Arbitrary<PeerRequest> = fc.oneof(
  fc.constant<PeerRequest>({ kind: 'ping' }),
  fc
    .record({
      kind: fc.constant('readObject' as const),
      key,
      token,
      bytesMax: fc.option(fc.integer({ min: 0, max: 0xffffffff }), { nil: undefined }),
      version: fc.option(bytes, { nil: undefined }),
    })
    .map(({ version, ...read }) => (version === undefined ? read : { ...read, version })),
  fc.record(
    { kind: fc.constant('mergeObject' as const), key, token, object: bytes, clientName: bytes },
    { requiredKeys: ['kind', 'key', 'token', 'object'] },
  ),
  fc.record({
    kind: fc.constant('coordinateWrite' as const),
    key,
    token,
    context: bytes,
    content: bytes,
    level: fc.constantFrom('DC_ONE', 'DC_QUORUM', '2'),
    ifNoneMatch: fc.boolean(),
    ifContext: bytes,
    asked: fc.record({ life: fc.maxSafeNat(), number: fc.maxSafeNat(), heardLife: fc.maxSafeNat() }),
  }),
  fc.record({ kind: fc.constant('gossip' as const), words: bytes }),
  fc.record(
    { kind: fc.constant('mergeBatch' as const), words: bytes, clientName: bytes },
    { requiredKeys: ['kind', 'words'] },
  ),
  fc.record({ kind: fc.constant('transact' as const), words: bytes }),
  fc.record({ kind: fc.constant('antiEntropy' as const), words: bytes }),
  fc.record({ kind: fc.constant('listNames' as const), words: bytes }),
  fc.record({ kind: fc.constant('properties' as const), words: bytes }),
  fc.record({ kind: fc.constant('mapPhase' as const), words: bytes }),
  fc.record({ kind: fc.constant('reap' as const), words: bytes }),
  fc.record({ kind: fc.constant('keepHint' as const), words: bytes }),
);

const sameObject: PeerReply = { kind: 'object', object: undefined, same: true };
const reply: fc.Arbitrary<PeerReply> = fc.oneof(
  fc.constantFrom<PeerReply>({ kind: 'pong' }, { kind: 'written' }, sameObject),
  fc.record({ kind: fc.constant('object' as const), object: fc.option(bytes, { nil: undefined }) }),
  fc.record({
    kind: fc.constant('object' as const),
    object: fc.constant(undefined),
    described: fc.record({
      bytes: fc.integer({ min: 0, max: 0xffffffff }),
      digest: fc.uint8Array({ minLength: digestBytes, maxLength: digestBytes }),
    }),
  }),
  fc.record({ kind: fc.constant('coordinated' as const), object: bytes }),
  fc.record({ kind: fc.constant('gossiped' as const), words: bytes }),
  fc.record({ kind: fc.constant('transacted' as const), words: bytes }),
  fc.record({ kind: fc.constant('antiEntropyAnswered' as const), words: bytes }),
  fc.record({ kind: fc.constant('namesListed' as const), words: bytes }),
  fc.record({ kind: fc.constant('phaseMapped' as const), words: bytes }),
  fc.record({ kind: fc.constant('propertiesAnswered' as const), words: bytes }),
  fc.record({ kind: fc.constant('reapAnswered' as const), words: bytes }),
  fc.record(
    {
      kind: fc.constant('failed' as const),
      code: fc.constantFrom(...errorCodes),
      detail: fc.string({ unit: 'grapheme', maxLength: 40 }),
      facts: fc.constantFrom<ErrorFacts>(
        { definite: true },
        { definite: true, votes: { got: 1, needed: 2 } },
        { votes: { got: 0, needed: 3 } },
      ),
    },
    { requiredKeys: ['kind', 'code', 'detail'] },
  ),
);

const name = fc.string({ maxLength: 30 });
const hello: fc.Arbitrary<Hello> = fc.record({
  clusterId: name,
  node: fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/).map((text) => text as NodeId),
  datacenter: name,
  rack: name,
  tokens: fc.array(token, { maxLength: 20 }),
  epoch: name,
  generation: fc.maxSafeNat(),
  joining: fc.boolean(),
  version: name,
  messages: fc.oneof(fc.constant({ min: 3, max: 3 }), fc.record({ min: fc.nat(250), max: fc.nat(250) })),
});

/** The only frame in `encoded`. */
function frameOf(encoded: Uint8Array): Frame {
  const decoder = new FrameDecoder(limits);
  decoder.push(encoded);
  const frame = decoder.next();
  if (frame === undefined) throw new Error('no frame');
  expect(decoder.next()).toBeUndefined();
  return frame;
}

/** Byte arrays as hexadecimal, so that views and copies compare equal. */
function plain(value: object): unknown {
  return Object.entries(value).map(([field, part]: [string, unknown]): unknown => {
    if (part instanceof Uint8Array) return [field, Buffer.from(part).toString('hex')];
    return [field, typeof part === 'object' && part !== null ? sorted(part) : part];
  });
}

function sorted(value: object): unknown {
  return plain(Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))));
}

describe('the codec', () => {
  test('decodes every request and its id', () => {
    fc.assert(
      fc.property(request, fc.integer({ min: 0, max: 0xffffffff }), (message, id) => {
        const frame = frameOf(encodeRequest(arena, id, message));
        expect(frame.id).toBe(id);
        expect(sorted(decodeRequest(frame))).toEqual(sorted(message));
      }),
    );
  });

  test('decodes every reply and its id', () => {
    fc.assert(
      fc.property(reply, fc.integer({ min: 0, max: 0xffffffff }), (message, id) => {
        const frame = frameOf(encodeReply(arena, id, message));
        expect(frame.id).toBe(id);
        expect(sorted(decodeReply(frame))).toEqual(sorted(message));
      }),
    );
  });

  test('decodes every greeting', () => {
    fc.assert(
      fc.property(hello, (message) => {
        expect(decodeGreeting(frameOf(encodeHello(arena, message)))).toEqual({
          kind: 'hello',
          hello: message,
        });
      }),
    );
    for (const reason of refusalReasons) {
      const refusal = { kind: 'refusal', reason, detail: 'not here' } as const;
      const tokens = [0 as Token, 4_294_967_295 as Token];
      for (const said of [refusal, { ...refusal, generation: 7 }, { ...refusal, tokens }]) {
        expect(decodeGreeting(frameOf(encodeRefusal(arena, said)))).toEqual(said);
      }
    }
  });

  test('decodes any body of any kind to a message or a typed error', () => {
    const kinds = [...Object.values(requestKinds), ...Object.values(replyKinds), 1, 2, 7];
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 120 }), (kind, garbage) => {
        const frame = { kind, id: 1, body: Buffer.from(garbage) };
        for (const decode of [decodeRequest, decodeReply, decodeGreeting]) {
          try {
            decode(frame);
          } catch (error) {
            expect(error).toBeInstanceOf(FrameError);
          }
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('decodes a body that was truncated or altered anywhere to a message or a typed error', () => {
    fc.assert(
      fc.property(request, fc.nat(), fc.nat(255), fc.boolean(), (message, place, byte, cut) => {
        const frame = frameOf(encodeRequest(arena, 1, message));
        if (frame.body.length === 0) return;
        const at = place % frame.body.length;
        const body = Buffer.from(cut ? frame.body.subarray(0, at) : frame.body);
        if (!cut) body[at] = byte;
        try {
          decodeRequest({ ...frame, body });
        } catch (error) {
          expect(error).toBeInstanceOf(FrameError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('skips fields that it does not know, before and after those it knows', () => {
    const unknown = Buffer.from([
      0xf8, 0x01, 0x05, 0xf9, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0xfa, 0x01, 0x02, 9, 9, 0xfd, 0x01, 1, 2, 3, 4,
    ]);
    fc.assert(
      fc.property(request, reply, (asked, answered) => {
        const around = (frame: Frame): Frame => ({
          ...frame,
          body: Buffer.concat([unknown, frame.body, unknown]),
        });
        const question = frameOf(encodeRequest(arena, 1, asked));
        const answer = frameOf(encodeReply(arena, 1, answered));
        expect(sorted(decodeRequest(around(question)))).toEqual(sorted(asked));
        expect(sorted(decodeReply(around(answer)))).toEqual(sorted(answered));
      }),
    );
  });

  test('names a missing required field', () => {
    const decode = (kind: number, body: Uint8Array) =>
      decodeRequest({ kind, id: 1, body: Buffer.from(body) });
    const read = Buffer.from(encodeBody(schemaType('ReadObject'), { key: bytesOf(sampleKey), token: 7 }));
    expect(decode(requestKinds.readObject, read)).toEqual({ kind: 'readObject', key: sampleKey, token: 7 });
    expect(() => decode(requestKinds.readObject, read.subarray(0, -5))).toThrow('field token is missing');
    expect(() => decode(requestKinds.readObject, read.subarray(-5))).toThrow('field key is missing');
    expect(() => decode(requestKinds.mergeObject, read)).toThrow('field object is missing');
    expect(() => decode(requestKinds.coordinateWrite, read)).toThrow("missing required 'level'");
  });

  test('refuses an incomplete description', () => {
    const digest = Buffer.alloc(digestBytes);
    for (const fields of [
      { describedBytes: 7 },
      { describedDigest: digest },
      { describedBytes: 7, describedDigest: digest.subarray(1) },
      { describedBytes: 7, describedDigest: digest, object: digest },
    ]) {
      const body = Buffer.from(encodeBody(schemaType('Object'), fields));
      expect(() => decodeReply({ kind: replyKinds.object, id: 1, body })).toThrow('not whole');
    }
  });

  test('refuses a key that is not in its packed form', () => {
    const body = Buffer.from(encodeBody(schemaType('ReadObject'), { key: Buffer.from('\x07def'), token: 7 }));
    expect(() => decodeRequest({ kind: requestKinds.readObject, id: 1, body })).toThrow('packed form');
  });

  test('writes the same bytes as reflection', () => {
    fc.assert(
      fc.property(key, token, bytes, fc.nat(0xffffffff), (packed, place, object, count) => {
        const merge = frameOf(
          encodeRequest(arena, 1, { kind: 'mergeObject', key: packed, token: place, object }),
        );
        const read = frameOf(encodeRequest(arena, 1, { kind: 'readObject', key: packed, token: place }));
        const answer = frameOf(encodeReply(arena, 1, { kind: 'object', object }));
        const batch = frameOf(encodeRequest(arena, 1, { kind: 'mergeBatch', words: object }));
        const order = frameOf(encodeRequest(arena, 1, { kind: 'transact', words: object }));
        const vote = frameOf(encodeReply(arena, 1, { kind: 'transacted', words: object }));
        const fields = { key: bytesOf(packed), token: place, object };
        const bounded = { kind: 'readObject', key: packed, token: place, bytesMax: count } as const;
        const digest = createHash('sha256').update(object).digest();
        const described = { kind: 'object', object: undefined, described: { bytes: count, digest } } as const;
        expect(hex(frameOf(encodeRequest(arena, 1, bounded)).body)).toBe(
          hex(encodeBody(schemaType('ReadObject'), { ...fields, bytesMax: count })),
        );
        const versioned = { ...bounded, version: object } as const;
        expect(hex(frameOf(encodeRequest(arena, 1, versioned)).body)).toBe(
          hex(encodeBody(schemaType('ReadObject'), { ...fields, bytesMax: count, version: object })),
        );
        const same = { kind: 'object', object: undefined, same: true } as const;
        expect(hex(frameOf(encodeReply(arena, 1, same)).body)).toBe(
          hex(encodeBody(schemaType('Object'), { same: true })),
        );
        expect(hex(frameOf(encodeReply(arena, 1, described)).body)).toBe(
          hex(encodeBody(schemaType('Object'), { describedBytes: count, describedDigest: digest })),
        );
        expect(hex(merge.body)).toBe(hex(encodeBody(schemaType('MergeObject'), fields)));
        expect(hex(read.body)).toBe(hex(encodeBody(schemaType('ReadObject'), fields)));
        expect(hex(answer.body)).toBe(hex(encodeBody(schemaType('Object'), { object })));
        expect(hex(batch.body)).toBe(hex(encodeBody(schemaType('MergeBatch'), { words: object })));
        expect(hex(order.body)).toBe(hex(encodeBody(schemaType('Transact'), { words: object })));
        expect(hex(vote.body)).toBe(hex(order.body));
        const gossip = frameOf(encodeRequest(arena, 1, { kind: 'gossip', words: object }));
        expect(hex(gossip.body)).toBe(hex(encodeBody(schemaType('Gossip'), { words: object })));
      }),
    );
  });

  test('decodes an unknown failure code of a newer peer as one that is not definite', () => {
    const body = Buffer.from(encodeBody(schemaType('Failed'), { code: 60_000, detail: 'new' }));
    const decoded = decodeReply({ kind: replyKinds.failed, id: 1, body });
    expect(decoded).toEqual({ kind: 'failed', code: 'Internal', detail: 'new' });
  });

  test('truncates the detail of a failure that is too long', () => {
    const detail = 'x'.repeat(5000);
    const decoded = decodeReply(frameOf(encodeReply(arena, 1, { kind: 'failed', code: 'Internal', detail })));
    expect(decoded).toEqual({ kind: 'failed', code: 'Internal', detail: 'x'.repeat(1024) });
  });
});

const sampleKey = objectKey('default' as ByteString, 'b' as ByteString, 'k' as ByteString).packed;

function hex(value: Uint8Array): string {
  return Buffer.from(value).toString('hex');
}

describe('the trace context of a request', () => {
  const trace = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
  const bytesOf3 = Buffer.from([1, 2, 3]);
  const words = bytesOf3;
  const traceable: readonly PeerRequest[] = [
    { kind: 'readObject', key: sampleKey, token: 7 as Token, bytesMax: 9 },
    { kind: 'mergeObject', key: sampleKey, token: 7 as Token, object: bytesOf3 },
    { kind: 'mergeObject', key: sampleKey, token: 7 as Token, object: bytesOf3, clientName: words },
    { kind: 'mergeBatch', words },
    { kind: 'mergeBatch', words, clientName: bytesOf3 },
    { kind: 'transact', words },
    {
      ...{ kind: 'coordinateWrite', key: sampleKey, token: 7 as Token, context: bytesOf3, content: words },
      ...{ level: 'DC_QUORUM', ifNoneMatch: false, ifContext: bytesOf3 },
    },
  ];

  test.each(traceable)('travels with $kind, and an untraced one has the bytes that it always had', (one) => {
    const plain = frameOf(encodeRequest(arena, 1, one));
    const traced = frameOf(encodeRequest(arena, 1, { ...one, trace } as PeerRequest));
    expect(decodeRequest(traced)).toEqual({ ...one, trace });
    expect(decodeRequest(plain)).toEqual(one);
    expect(hex(frameOf(encodeRequest(arena, 1, { ...one, trace: undefined } as PeerRequest)).body)).toBe(
      hex(plain.body),
    );
    // What an earlier version reads comes first and is the same; it skips field 15.
    expect(hex(traced.body.subarray(0, plain.body.length))).toBe(hex(plain.body));
    expect(traced.body.length - plain.body.length).toBe(27);
    expect(traced.body[plain.body.length]).toBe(15 * 8 + 2);
  });

  test('is left out of a frame that it would make too large', () => {
    const small = new FrameArena({ frameBytesMax: 200, chunkBytes: 16 * 1024 });
    const one: PeerRequest = { kind: 'transact', words: Buffer.alloc(150) };
    expect(frameOf(encodeRequest(small, 1, { ...one, trace })).body.length).toBe(153);
  });
});
