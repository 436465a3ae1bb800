/** Tests of transactions in the binary protocol: the constants and refusals of the HTTP interface. */
import { expect, test } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { bufferOf } from '../../base/ids.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { parseTransaction } from '../http/transaction-body.ts';
import { scriptedXid } from '../testing/scripted-transactions.fixture.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { TestingServer } from './server.fixture.ts';
import type { PbcPeer } from './peer.fixture.ts';
import type { LockOperation, LockTransactionReq } from './transaction-messages.ts';

const utf8 = (text: string): Buffer => Buffer.from(text, 'utf8');

function put(key: string, value: string, more: Partial<LockOperation> = {}): LockOperation {
  return { bucket: utf8('b'), key: utf8(key), content: { value: utf8(value) }, ...more };
}

function transaction(
  operations: readonly LockOperation[],
  more: Partial<LockTransactionReq> = {},
): ClientRequest {
  return { kind: 'transaction', message: { operations, ...more } };
}

async function ask(peer: PbcPeer, request: ClientRequest): Promise<ClientReply> {
  await peer.request(request);
  const [reply] = peer.replies();
  return reply ?? { kind: 'failed', code: undefined, text: 'no answer', definite: false };
}

/** A reply as text. */
function wordsOf(reply: ClientReply): unknown {
  if (reply.kind !== 'transacted') return reply.kind === 'failed' ? reply.text : reply.kind;
  return Object.fromEntries(Object.entries(reply.message).map(([name, value]) => [name, plain(value)]));
}

function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return bufferOf(value).toString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, plain(field)]));
}

test('a transaction carries what its JSON form carries', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const operations = [
    put('k1', 'v', { type: utf8('maps'), if_absent: true }),
    { bucket: utf8('b'), key: utf8('k2'), delete: true },
  ];
  const more = { force_abort: true, consistency: utf8('DC_ONE'), timeout: 70, id: utf8('mine') };
  expect(wordsOf(await ask(peer, transaction(operations, more)))).toMatchObject({
    transaction_id: scriptedXid,
    outcome: 'committed',
    operations: 2,
  });
  const [request] = testing.transactions.requests;
  expect(request).toMatchObject({ forceAbort: true, level: 'DC_ONE', timeoutMs: 70, clientId: 'mine' });
  expect(
    request?.operations.map(({ key, content, ifAbsent }) => [key.key, content.tombstone, ifAbsent]),
  ).toEqual([
    ['k1', false, true],
    ['k2', true, false],
  ]);
});

test('an idempotency key of bytes that are no text is refused: other bytes would stand for it, too', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  for (const id of [Buffer.from([0, 0xfe]), Buffer.from([0, 0xff])])
    expect(wordsOf(await ask(peer, transaction([put('k', 'v')], { id })))).toContain(
      'id is a text of 1 to 128',
    );
  expect(testing.transactions.requests).toEqual([]);
  const id = utf8('\ufffd');
  expect(wordsOf(await ask(peer, transaction([put('k', 'v')], { id })))).toMatchObject({
    outcome: 'committed',
  });
});

test('a retry is answered with all operations, whichever node answers it', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const remembered = { kind: 'committed', xid: scriptedXid, branches: [] } as const;
  testing.transactions.outcomes.push(remembered);
  const sent = transaction([put('k1', 'v'), put('k2', 'v')], { id: utf8('mine') });
  expect(wordsOf(await ask(peer, sent))).toMatchObject({ outcome: 'committed', operations: 2 });
  testing.transactions.known.set(scriptedXid, remembered);
  const named: ClientRequest = { kind: 'transactionGet', message: { transaction_id: utf8(scriptedXid) } };
  expect(wordsOf(await ask(peer, named))).toMatchObject({ outcome: 'committed', operations: undefined });
});

test('every outcome and lookup is encoded', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  testing.transactions.outcomes.push(
    { kind: 'aborted', xid: scriptedXid, reason: 'conflict', detail: 'b/k belongs to another' },
    { kind: 'inDoubt', xid: scriptedXid },
  );
  expect(wordsOf(await ask(peer, transaction([put('k', 'v')])))).toMatchObject({
    outcome: 'aborted',
    reason: 'conflict',
    detail: 'b/k belongs to another',
  });
  expect(wordsOf(await ask(peer, transaction([put('k', 'v')])))).toMatchObject({ outcome: 'in_doubt' });
  const named: ClientRequest = { kind: 'transactionGet', message: { transaction_id: utf8(scriptedXid) } };
  expect(wordsOf(await ask(peer, named))).toContain('NotFound: this node finds no record of the transaction');
  testing.transactions.known.set(scriptedXid, {
    kind: 'prepared',
    xid: scriptedXid,
    node: 'n2' as never,
    coordinator: 'n1' as never,
    keyCount: 3,
    ageMs: 40,
  });
  expect(wordsOf(await ask(peer, named))).toMatchObject({ outcome: 'in_doubt', coordinator: 'n1', keys: 3 });
  const resolve = (heuristic: string): ClientRequest => ({
    kind: 'transactionResolve',
    message: { transaction_id: utf8(scriptedXid), heuristic: utf8(heuristic) },
  });
  expect(wordsOf(await ask(peer, resolve('perhaps')))).toBe(
    'BadRequest: heuristic is one of commit, rollback, abandon',
  );
  expect(wordsOf(await ask(peer, resolve('rollback')))).toMatchObject({ heuristic: 'rollback' });
  expect(testing.transactions.resolutions).toEqual([`${scriptedXid} rollback`]);
  const entry = {
    xid: scriptedXid,
    role: 'coordinator' as const,
    state: 'committing',
    coordinator: 'n1' as NodeId,
    branches: ['n2' as NodeId, 'n3' as NodeId],
    lost: ['n3' as NodeId],
    ageMs: 5,
  };
  testing.transactions.entries.push(entry, { ...entry, lost: [] });
  const list = await ask(peer, { kind: 'transactionList' });
  const lostOf = list.kind === 'inDoubt' ? list.message.transactions?.map(({ lost }) => lost ?? []) : [];
  expect(lostOf?.map((nodes) => nodes.map(String))).toEqual([['n3'], []]);
});

test('batches that the HTTP interface refuses are refused with the same texts', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const limits = {
    operationCountMax: 4,
    bytesMax: 1000,
    content: { ...defaultContentLimits, valueBytesMax: 500 },
    knowsType: () => false,
  };
  const good = { op: 'put', bucket: 'b', key: 'k', value: 'v' };
  const cases: readonly [ClientRequest, object][] = [
    [transaction([]), { operations: [] }],
    [transaction([put('k', 'v'), put('k', 'w')]), { operations: [good, good] }],
    [transaction(Array.from({ length: 5 }, () => put('k', 'v'))), { operations: Array(5).fill(good) }],
    [transaction([put('k', 'x'.repeat(501))]), { operations: [{ ...good, value: 'x'.repeat(501) }] }],
    [
      transaction(['1', '2', '3'].map((key) => put(key, 'x'.repeat(400)))),
      { operations: ['1', '2', '3'].map((key) => ({ ...good, key, value: 'x'.repeat(400) })) },
    ],
    [transaction([put('k', 'v', { vclock: utf8('no') })]), { operations: [{ ...good, context: 'bm8=' }] }],
    [
      transaction([put('k', 'v', { if_absent: true, if_match: Buffer.alloc(0) })]),
      { operations: [{ ...good, if_absent: true, if_match: '' }] },
    ],
    [transaction([put('k', 'v', { type: utf8('no') })]), { operations: [{ ...good, type: 'no' }] }],
    [transaction([put('', 'v')]), { operations: [{ ...good, key: undefined }] }],
    [transaction([put('k', 'v')], { consistency: utf8('ALL') }), { operations: [good], consistency: 'ALL' }],
    [transaction([put('k', 'v')], { timeout: 0 }), { operations: [good], timeout_ms: 0 }],
    [transaction([put('k', 'v')], { id: Buffer.alloc(0) }), { operations: [good], id: '' }],
  ];
  for (const [request, body] of cases) {
    const spoken = wordsOf(await ask(peer, request));
    expect(spoken).toBe(
      complaintAbout(() => parseTransaction(utf8(JSON.stringify(body)), undefined, limits)),
    );
  }
  expect(testing.transactions.requests).toEqual([]);
});

test('a transaction waits for an earlier write to one of its keys, and delays later ones', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const write: ClientRequest = {
    kind: 'put',
    message: { bucket: utf8('b'), key: utf8('k'), content: { value: utf8('v') } },
  };
  const read: ClientRequest = { kind: 'get', message: { bucket: utf8('b'), key: utf8('k') } };
  await peer.request(write, transaction([put('k', 'w')]), read, { kind: 'ping' });
  expect(peer.replies().map(({ kind }) => kind)).toEqual(['stored', 'transacted', 'got', 'pong']);
});

function complaintAbout(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof LockstepError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'nothing';
}
