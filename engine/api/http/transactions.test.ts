import { expect, test } from 'vitest';
import { present } from '../../base/assert.ts';
import { byteStringOf } from '../../base/ids.ts';
import { objectKey } from '../../base/object-key.ts';
import type { HttpRequest } from '../../io/http.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { ScriptedTransactions } from '../testing/scripted-transactions.contract.ts';
import { TallyingObserver } from '../testing/tallying-observer.contract.ts';
import { TestClock, TestLog } from '../testing/test-io.contract.ts';
import { textOfAnswer } from './testing-client.contract.ts';
import { transactionRoutes } from './transaction-routes.ts';

const typed = { path: '/types/:type/buckets/:bucket/transactions', params: { type: 'maps', bucket: 'b%2f' } };
const plain = { path: '/buckets/:bucket/transactions', params: { bucket: 'b%2f' } };

async function post(at: typeof typed | typeof plain, operation: object): Promise<string> {
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
    body: Buffer.from(JSON.stringify({ operations: [{ op: 'delete', key: 'k', ...operation }] })),
    remote: '127.0.0.1:1',
    onGone: () => undefined,
  };
  const answer = await present(route, 'the route').handle(request);
  const key = transactions.requests[0]?.operations[0]?.key.packed;
  return key ?? textOfAnswer(answer);
}

const keyOf = (type: string): string =>
  objectKey(byteStringOf(type), byteStringOf('b/'), byteStringOf('k')).packed;

test('a batch in a bucket touches that bucket of that type alone', async () => {
  expect(await post(typed, {})).toBe(keyOf('maps'));
  expect(await post(typed, { type: 'maps', bucket: 'b/' })).toBe(keyOf('maps'));
  expect(await post(plain, { type: 'default' })).toBe(keyOf('default'));
  expect(await post(typed, { type: 'default' })).toContain('type \\"default\\" differs from the path');
  expect(await post(plain, { type: 'maps' })).toContain('type \\"maps\\" differs from the path');
  expect(await post(plain, { bucket: 'c' })).toContain('bucket \\"c\\" differs from the path');
});
