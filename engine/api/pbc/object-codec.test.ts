import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeGetReq,
  decodeGetResp,
  decodePutReq,
  encodeGetReq,
  encodeGetResp,
  encodePutReq,
  encodePutResp,
} from './object-codec.ts';
import type { Fields, Message } from './message-table.ts';
import { bytes, getReq, maybe, plainFields, putReqWith } from './object-messages.contract.ts';
import type { RpbContent } from './object-messages.ts';
import { RpbGetReq, RpbGetResp, RpbPutReq, RpbPutResp } from './object-messages.ts';

const content: fc.Arbitrary<RpbContent> = fc.record(plainFields);

const putReq = putReqWith(content);

const getResp: fc.Arbitrary<RpbGetResp> = fc.record({
  content: fc.array(content, { maxLength: 3 }),
  vclock: maybe(bytes),
  unchanged: maybe(fc.boolean()),
});

const putResp = fc.record({ vclock: maybe(bytes), key: maybe(bytes) });

/** The body that protobufjs encodes, without the frame's head. */
function reflected({ codec }: Message<Fields>, message: object): string {
  const present = Object.fromEntries(Object.entries(message).filter(([, field]) => field !== undefined));
  return Buffer.from(codec.encode(present).finish()).toString('hex');
}

function bodyOf(frame: Buffer | undefined, code: number): string {
  expect(frame?.readUInt32BE(0)).toBe((frame?.length ?? 0) - 4);
  expect(frame?.[4]).toBe(code);
  return frame?.toString('hex', 5) ?? '';
}

/** A message's own fields, with views as hex and absent fields left out. */
function fieldsOf(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map(fieldsOf);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, fieldsOf(field)]));
}

test('the hand-written encoder yields the same bytes as protobufjs', () => {
  fc.assert(
    fc.property(getReq, putReq, getResp, putResp, (get, put, got, stored) => {
      expect(bodyOf(encodeGetReq(get, 9), 9)).toBe(reflected(RpbGetReq, get));
      expect(bodyOf(encodePutReq(put, 11), 11)).toBe(reflected(RpbPutReq, put));
      expect(bodyOf(encodeGetResp(got, 10), 10)).toBe(reflected(RpbGetResp, got));
      expect(bodyOf(encodePutResp(stored, 12), 12)).toBe(reflected(RpbPutResp, stored));
    }),
    { numRuns: 100 },
  );
});

const decoders = [
  [RpbGetReq, decodeGetReq, getReq],
  [RpbPutReq, decodePutReq, putReq],
  [RpbGetResp, decodeGetResp, getResp],
] as const;

/** Bytes of a message, whole or damaged: with a byte altered, truncated, or followed by another message. */
const damaged = fc.record({
  at: fc.nat(600),
  byte: fc.nat(255),
  how: fc.constantFrom('whole', 'altered', 'cut', 'doubled'),
});

test('the hand-written decoder agrees with protobufjs and accepts usual messages', () => {
  fc.assert(
    fc.property(fc.tuple(getReq, putReq, getResp), damaged, (messages, { at, byte, how }) => {
      for (const [index, [declared, decode]] of decoders.entries()) {
        const whole = Buffer.from(reflected(declared, messages[index] ?? {}), 'hex');
        const body = how === 'cut' ? whole.subarray(0, at % (whole.length + 1)) : Buffer.from(whole);
        if (how === 'altered' && body.length > 0) body[at % body.length] = byte;
        const read = decode(how === 'doubled' ? Buffer.concat([body, body]) : body);
        if (how === 'whole') expect(read).toBeDefined();
        if (read === undefined) continue;
        const doubled = how === 'doubled' ? Buffer.concat([body, body]) : body;
        expect(fieldsOf(read)).toEqual(fieldsOf(declared.codec.decode(doubled)));
      }
    }),
    { numRuns: 500 },
  );
});

test('links, metadata and indexes are left to protobufjs', () => {
  const value = Buffer.from('v');
  const pair = { key: Buffer.from('k'), value };
  const unusual: readonly RpbContent[] = [
    { value, links: [{ bucket: value }] },
    { value, usermeta: [pair] },
    { value, indexes: [pair] },
  ];
  for (const one of unusual) {
    expect(encodeGetResp({ content: [one] }, 10)).toBeUndefined();
    expect(encodePutReq({ bucket: value, content: one }, 11)).toBeUndefined();
    const body = Buffer.from(reflected(RpbPutReq, { bucket: value, content: one }), 'hex');
    expect(decodePutReq(body)).toBeUndefined();
  }
});
