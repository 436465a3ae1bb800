import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeId } from '../../base/ids.ts';
import { makeXid } from '../../transactions/formats/xid.fixture.ts';
import type { Fields, Message } from './message-table.ts';
import { bytes, maybe, plainFields, u32 } from './object-messages.contract.ts';
import { messages } from './schema.ts';
import {
  decodeTransactionReq,
  decodeTransactionResp,
  encodeCommitted,
  encodeTransactionReq,
  encodeTransactionResp,
} from './transaction-codec.ts';
import { LockTransactionReq, LockTransactionResp } from './transaction-messages.ts';

const flag = maybe(fc.boolean());

const request: fc.Arbitrary<LockTransactionReq> = fc.record({
  operations: fc.array(
    fc.record({
      type: maybe(bytes),
      bucket: bytes,
      key: bytes,
      content: maybe(fc.record(plainFields)),
      delete: flag,
      vclock: maybe(bytes),
      if_match: maybe(bytes),
      if_absent: flag,
    }),
    { maxLength: 3 },
  ),
  force_abort: flag,
  consistency: maybe(bytes),
  timeout: maybe(u32),
  id: maybe(bytes),
});

const answer: fc.Arbitrary<LockTransactionResp> = fc.record({
  transaction_id: bytes,
  outcome: bytes,
  reason: maybe(bytes),
  detail: maybe(bytes),
  operations: maybe(u32),
  branches: fc.array(fc.record({ node: bytes, vote: maybe(bytes), pending: flag }), { maxLength: 3 }),
  coordinator: maybe(bytes),
  keys: maybe(u32),
  heuristic: maybe(bytes),
});

const outcome = fc.record(
  {
    kind: fc.constant('committed' as const),
    xid: fc.nat().map((count) => makeXid('n1' as NodeId, '0123456789ab', count)),
    operationCount: u32,
    branches: fc.array(
      fc.record({
        node: fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/).map((name) => name as NodeId),
        vote: fc.constantFrom('commit' as const, 'read_only' as const),
        pending: fc.boolean(),
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: ['kind', 'xid', 'branches'] },
);

/** The body that protobufjs encodes, without the frame's head. */
function reflected({ codec }: Message<Fields>, message: object): Buffer {
  return Buffer.from(codec.encode(withoutAbsent(message) as object).finish());
}

/** Leaves out fields that are `undefined`. */
function withoutAbsent(value: unknown): unknown {
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(withoutAbsent);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutAbsent(field)]));
}

/** A message's own fields, with views as hex. */
function shown(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, shown(field)]));
}

function bodyOf(frame: Buffer | undefined, code: number): string {
  expect(frame?.readUInt32BE(0)).toBe((frame?.length ?? 0) - 4);
  expect(frame?.[4]).toBe(code);
  return frame?.toString('hex', 5) ?? '';
}

test('the hand-written encoder of transactions yields the same bytes as protobufjs', () => {
  fc.assert(
    fc.property(request, answer, (asked, told) => {
      const wanted = reflected(LockTransactionReq, asked).toString('hex');
      expect(bodyOf(encodeTransactionReq(asked, 210), 210)).toBe(wanted);
      const answered = reflected(LockTransactionResp, told).toString('hex');
      expect(bodyOf(encodeTransactionResp(told, 211), 211)).toBe(answered);
    }),
    { numRuns: 100 },
  );
});

test('encodeCommitted yields the bytes of its message', () => {
  fc.assert(
    fc.property(outcome, (committed) => {
      const { xid, operationCount, branches } = committed;
      const wanted = reflected(LockTransactionResp, {
        transaction_id: Buffer.from(xid),
        outcome: Buffer.from('committed'),
        operations: operationCount,
        branches: branches.map(({ node, vote, pending }) => ({
          node: Buffer.from(node),
          vote: Buffer.from(vote),
          pending: pending ? true : undefined,
        })),
      });
      expect(bodyOf(encodeCommitted(committed, 211), 211)).toBe(wanted.toString('hex'));
    }),
    { numRuns: 50 },
  );
});

const decoders = [
  [LockTransactionReq, decodeTransactionReq],
  [LockTransactionResp, decodeTransactionResp],
] as const;

/** Bytes of a message, whole or damaged: with a byte altered, truncated, or repeated. */
const damage = fc.record({
  at: fc.nat(600),
  byte: fc.nat(255),
  how: fc.constantFrom('whole', 'altered', 'cut', 'doubled'),
});

test('the hand-written decoder agrees with protobufjs and accepts usual transactions', () => {
  fc.assert(
    fc.property(request, answer, damage, (asked, told, { at, byte, how }) => {
      for (const [index, [declared, decode]] of decoders.entries()) {
        const whole = reflected(declared, index === 0 ? asked : told);
        const cut = how === 'cut' ? whole.subarray(0, at % (whole.length + 1)) : Buffer.from(whole);
        if (how === 'altered' && cut.length > 0) cut[at % cut.length] = byte;
        const body = how === 'doubled' ? Buffer.concat([cut, cut]) : cut;
        const read = decode(body);
        if (how === 'whole') expect(read).toBeDefined();
        if (read !== undefined) expect(shown(read)).toEqual(shown(declared.codec.decode(body)));
      }
    }),
    { numRuns: 500 },
  );
});

test('links, metadata and ages are left to protobufjs', () => {
  const name = Buffer.from('n');
  const content = { value: name, usermeta: [{ key: name, value: name }] };
  const asked = { operations: [{ bucket: name, key: name, content }] };
  expect(encodeTransactionReq(asked, 210)).toBeUndefined();
  expect(decodeTransactionReq(reflected(LockTransactionReq, asked))).toBeUndefined();
  expect(
    shown(messages.transactionReq.decode(messages.transactionReq.encode(asked).subarray(5))),
  ).toMatchObject(shown(asked) as object);
  const told = { transaction_id: name, outcome: name, age_ms: 1.5 };
  expect(encodeTransactionResp(told, 211)).toBeUndefined();
  expect(decodeTransactionResp(reflected(LockTransactionResp, told))).toBeUndefined();
  expect(messages.transactionResp.decode(messages.transactionResp.encode(told).subarray(5)).age_ms).toBe(1.5);
});
