import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ErrorCode } from '../../base/errors.ts';
import { LockstepError, errorCodes, errorTable } from '../../base/errors.ts';
import { decodeReply, encodeRequest } from './client-codec.ts';
import { errorCodeOf, errorNumberOf, isDefinite } from './error-numbers.ts';
import { FrameReader } from './frames.ts';
import { bytes, getReq, maybe, plainFields, putReqWith, u32 } from './object-messages.contract.ts';
import { errorFrame, errorFrameOf } from './replies.ts';
import type { RpbContent, RpbDelReq } from './object-messages.ts';
import { messages } from './schema.ts';

const pair = fc.record({ key: bytes, value: maybe(bytes) });

const content: fc.Arbitrary<RpbContent> = fc.record({
  ...plainFields,
  links: fc.array(fc.record({ bucket: maybe(bytes), key: maybe(bytes), tag: maybe(bytes) }), {
    maxLength: 3,
  }),
  usermeta: fc.array(pair, { maxLength: 3 }),
  indexes: fc.array(pair, { maxLength: 3 }),
});

const putReq = putReqWith(content);

const delReq: fc.Arbitrary<RpbDelReq> = fc.record({
  bucket: bytes,
  key: bytes,
  rw: maybe(u32),
  vclock: maybe(bytes),
  r: maybe(u32),
  w: maybe(u32),
  pr: maybe(u32),
  pw: maybe(u32),
  dw: maybe(u32),
  timeout: maybe(u32),
  sloppy_quorum: maybe(fc.boolean()),
  n_val: maybe(u32),
  type: maybe(bytes),
});

/** A message as plain data: views become arrays, absent fields are left out. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
}

function bodyOf(frame: Buffer): Buffer {
  const reader = new FrameReader(1 << 20);
  reader.push(frame);
  const whole = reader.next();
  expect(reader.next()).toBeUndefined();
  return whole?.body ?? Buffer.alloc(0);
}

const operation = fc.record({
  type: maybe(bytes),
  bucket: bytes,
  key: bytes,
  content: maybe(content),
  delete: maybe(fc.boolean()),
  vclock: maybe(bytes),
  if_match: maybe(bytes),
  if_absent: maybe(fc.boolean()),
});

const transactionReq = fc.record({
  operations: fc.array(operation, { maxLength: 3 }),
  force_abort: maybe(fc.boolean()),
  consistency: maybe(bytes),
  timeout: maybe(u32),
  id: maybe(bytes),
});

test('a transaction decodes to the fields it was encoded from', () => {
  fc.assert(
    fc.property(transactionReq, (request) => {
      const body = bodyOf(messages.transactionReq.encode(request));
      expect(plain(messages.transactionReq.decode(body))).toEqual(plain(request));
    }),
    { numRuns: 100 },
  );
});

test('a request decodes to the fields it was encoded from', () => {
  fc.assert(
    fc.property(getReq, putReq, delReq, (get, put, del) => {
      expect(plain(messages.getReq.decode(bodyOf(messages.getReq.encode(get))))).toEqual(plain(get));
      expect(plain(messages.putReq.decode(bodyOf(messages.putReq.encode(put))))).toEqual(plain(put));
      expect(plain(messages.delReq.decode(bodyOf(messages.delReq.encode(del))))).toEqual(plain(del));
    }),
    { numRuns: 200 },
  );
});

test('an absent optional field reads as undefined and a zero as zero', () => {
  const absent = messages.getReq.decode(
    bodyOf(messages.getReq.encode({ bucket: Buffer.of(1), key: Buffer.of(2) })),
  );
  expect([absent.r, absent.type, absent.head]).toEqual([undefined, undefined, undefined]);
  const zero = messages.getReq.decode(
    bodyOf(messages.getReq.encode({ bucket: Buffer.of(1), key: Buffer.of(2), r: 0, head: false })),
  );
  expect([zero.r, zero.head]).toEqual([0, false]);
  const put = messages.putReq.encode({
    bucket: Buffer.of(1),
    content: { value: Buffer.alloc(0), usermeta: [{ key: Buffer.of(3) }] },
  });
  const stored = messages.putReq.decode(bodyOf(put));
  expect([stored.key, stored.content.charset, stored.content.usermeta?.[0]?.value]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test('arbitrary bytes decode or are refused as BadRequest that names the message', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(...Object.values(messages)),
      (body, kind) => {
        try {
          kind.decode(Buffer.from(body));
        } catch (error) {
          expect(error).toBeInstanceOf(LockstepError);
          expect(error).toMatchObject({ code: 'BadRequest', message: expect.stringContaining(kind.name) });
        }
      },
    ),
    { numRuns: 2000 },
  );
});

test('a request without a required field is refused by its name', () => {
  const body = bodyOf(messages.getReq.encode({ bucket: Buffer.of(1), key: Buffer.of(2) }));
  const withoutKey = body.subarray(0, 3);
  expect(() => messages.getReq.decode(withoutKey)).toThrow(/RpbGetReq.*key/);
});

test('frames carry the length of code and body, big-endian', () => {
  expect(encodeRequest({ kind: 'ping' })).toEqual(Buffer.of(0, 0, 0, 1, 1));
  const get = encodeRequest({ kind: 'get', message: { bucket: Buffer.from('b'), key: Buffer.from('k') } });
  expect(get).toEqual(Buffer.of(0, 0, 0, 7, 9, 0x0a, 1, 0x62, 0x12, 1, 0x6b));
});

test('every error code has a number above 0 and comes back from it', () => {
  for (const code of errorCodes) {
    expect(errorNumberOf(code)).toBeGreaterThan(0);
    expect(errorCodeOf(errorNumberOf(code))).toBe(code);
    expect(isDefinite(errorNumberOf(code))).toBe(errorTable[code].definite);
    // Nothing was sent: the code is the same, and the operation certainly did not happen.
    expect(errorCodeOf(errorNumberOf(code, true))).toBe(code);
    expect(isDefinite(errorNumberOf(code, true))).toBe(true);
  }
  expect(errorCodeOf(0)).toBeUndefined();
  expect(errorCodeOf(errorCodes.length + 1)).toBeUndefined();
});

test('Riak’s own texts have the number 0, and every other text the number of its code', () => {
  const texts: readonly (readonly [ErrorCode, string])[] = [
    ['PreconditionFailed', 'match_found'],
    ['PreconditionFailed', 'modified'],
    ['PreconditionFailed', 'notfound'],
    ['Timeout', 'timeout'],
    ['BadRequest', 'Unknown message code: 99'],
    ['NotFound', 'Unknown bucket type: cards'],
    ['NotFound', 'Invalid bucket properties: not_active'],
  ];
  for (const [code, text] of texts) {
    const body = bodyOf(errorFrame(code, text));
    expect(messages.errorResp.decode(body).errcode).toBe(0);
    const { definite } = errorTable[code];
    expect(decodeReply({ code: 0, body })).toEqual({ kind: 'failed', code, text, definite });
  }
  const own = bodyOf(errorFrameOf(new LockstepError('NoQuorum', 'modified')));
  expect(messages.errorResp.decode(own).errcode).toBe(errorNumberOf('NoQuorum'));
  // That nothing happened is more than Riak's text says.
  const body = bodyOf(errorFrameOf(new LockstepError('Timeout', 'late', { definite: true })));
  expect(decodeReply({ code: 0, body })).toMatchObject({ code: 'Timeout', text: 'timeout', definite: true });
});

test('an error answer has its code and text, and an unknown answer code is refused', () => {
  const errmsg = Buffer.from('Timeout: too slow');
  const body = bodyOf(messages.errorResp.encode({ errmsg, errcode: errorNumberOf('Timeout') }));
  expect(decodeReply({ code: 0, body })).toEqual({
    kind: 'failed',
    code: 'Timeout',
    text: 'Timeout: too slow',
    definite: false,
  });
  expect(() => decodeReply({ code: 99, body })).toThrow(/99/);
});
