import { expect, test } from 'vitest';
import { fullPermit } from '../../auth/permit.ts';
import { present } from '../../base/assert.ts';
import { byteStringOf } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import type { HttpRequest } from '../../io/http.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { ScriptedTransactions } from '../testing/scripted-transactions.fixture.ts';
import { TallyingObserver } from '../testing/tallying-observer.fixture.ts';
import { TestClock, TestLog } from '../testing/test-io.fixture.ts';
import { textOfAnswer } from './client.fixture.ts';
import { transactionRoutes } from './transaction-routes.ts';

const typed = { path: '/types/:type/buckets/:bucket/transactions', params: { type: 'maps', bucket: 'b%2f' } };
const plain = { path: '/buckets/:bucket/transactions', params: { bucket: 'b%2f' } };

/** The packed key that the transaction names, or the refusal. What stands between `~` in a text goes out bare. */
async function post(at: typeof typed | typeof plain, operation: object, batch: object = {}): Promise<string> {
  const transactions = new ScriptedTransactions();
  const routes = transactionRoutes({
    io: { clock: new TestClock(), log: new TestLog() },
    transactions,
    limits: {
      operationCountMax: 4,
      bytesMax: 1000,
      content: defaultContentLimits,
      knowsType: (type) => type === 'maps',
    },
    observer: new TallyingObserver(),
  });
  const route = routes.find((one) => one.method === 'POST' && one.path === at.path);
  const request: HttpRequest = {
    method: 'POST',
    params: at.params,
    path: at.path,
    query: new URLSearchParams(),
    headers: {},
    body: Buffer.from(
      JSON.stringify({ operations: [{ op: 'delete', key: 'k', ...operation }], ...batch })
        .replaceAll('"~', '')
        .replaceAll('~"', ''),
    ),
    remote: '127.0.0.1:1',
    onGone: () => undefined,
  };
  const answer = await present(route, 'the route').handle(request, fullPermit);
  const key = transactions.requests[0]?.operations[0]?.key.packed;
  return key ?? textOfAnswer(answer);
}

const keyOf = (type: string): string =>
  objectKey(byteStringOf(type), byteStringOf('b/'), byteStringOf('k')).packed;

test('a batch under the path of a bucket touches only that bucket', async () => {
  expect(await post(typed, {})).toBe(keyOf('maps'));
  expect(await post(typed, { type: 'maps', bucket: 'b/' })).toBe(keyOf('maps'));
  expect(await post(plain, { type: 'default' })).toBe(keyOf('default'));
  expect(await post(typed, { type: 'default' })).toContain('type \\"default\\" differs from the path');
  expect(await post(plain, { type: 'maps' })).toContain('type \\"maps\\" differs from the path');
  expect(await post(plain, { bucket: 'c' })).toContain('bucket \\"c\\" differs from the path');
});

test('JSON that nests too deep is refused by the rule `json`', async () => {
  const deep = JSON.parse('['.repeat(70) + ']'.repeat(70)) as unknown;
  for (const operation of [{ op: 'put', value: deep }, { op: deep }])
    expect(await post(plain, operation)).toContain('JSON nests deeper than 64 levels');
  const allowed = JSON.parse('['.repeat(60) + ']'.repeat(60)) as unknown;
  expect(await post(plain, { op: 'put', value: allowed })).toBe(keyOf('default'));
});

test('a lone surrogate is refused with its operation, and a whole pair is accepted', async () => {
  const half = '\ud83d';
  const wrong = [
    { op: 'put', value: half },
    { op: 'put', value: '', key: half },
    { op: 'put', value: '', meta: { [half]: '' } },
    { op: 'put', value: '', meta: { a: half } },
    { op: 'put', value: '', links: [{ bucket: 'b', key: half, tag: 't' }] },
  ];
  for (const operation of wrong)
    expect(await post(plain, operation)).toMatch(/operation 0: \w+ holds half of a surrogate pair/);
  expect(await post(plain, { op: 'put', value: '\ud83d\ude00' })).toBe(keyOf('default'));
});

test('a value in JSON is refused if one of its numbers would be stored as another one', async () => {
  for (const number of ['9007199254740993', '-12345678901234567890'])
    expect(await post(plain, { op: 'put', value: { id: [`~${number}~`] } })).toContain(
      `the number ${number} is beyond 2^53`,
    );
  expect(await post(plain, { op: 'put', value: { id: '~1e400~' } })).toContain('the number 1e400 is beyond');
  for (const value of [{ id: '9007199254740993' }, { id: '~9007199254740992~' }, '9007199254740993'])
    expect(await post(plain, { op: 'put', value })).toBe(keyOf('default'));
});

test('an idempotency key that UTF-8 cannot hold is refused', async () => {
  expect(await post(plain, {}, { id: '\ud83d' })).toContain('id is a text of 1 to 128 characters');
  expect(await post(plain, {}, { id: '\ud83d\ude00' })).toBe(keyOf('default'));
});
