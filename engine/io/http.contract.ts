/**
 * The laws of the HTTP port (`http.ts`), for both implementations. This file: refusals, limits and the closing of a
 * listener.
 */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { sleep } from './clock.ts';
import type { HttpResponse } from './http.ts';
import { exchangeLaws } from './http-exchange.contract.ts';
import { headLaws } from './http-head.contract.ts';
import { turnLaws } from './http-turns.contract.ts';
import type { HttpHarness, HttpReply } from './http-serving.contract.ts';
import {
  TestingBudget,
  bodyBytesMax,
  ok,
  okStream,
  route,
  serve,
  serviceOf,
} from './http-serving.contract.ts';
import type { LawRegister, MakeHarness, Skips } from './law.contract.ts';
import { contract } from './law.contract.ts';
import { ListenError } from './network.ts';

/** Declares the laws of the HTTP port for one implementation. */
export function httpContract(name: string, makeHarness: MakeHarness<HttpHarness>, skips: Skips = {}): void {
  contract(`http: ${name}`, makeHarness, skips, (suite) => {
    exchangeLaws(suite);
    turnLaws(suite);
    headLaws(suite);
    refusalLaws(suite);
    budgetLaws(suite);
    readingLaws(suite);
    listenerLaws(suite);
  });
}

function refusalLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('a path without a route is not found', async (harness) => {
    const listener = await serve(harness, [route('GET', '/known/:x', () => ok(''))]);
    for (const method of ['GET', 'PUT', 'HEAD', 'OPTIONS', 'PATCH', 'PROPFIND']) {
      const reply = await harness.exchange(listener.address, { method, target: '/unknown/a%20b?c=d' });
      expect([method, reply.status, reply.headers['x-path']]).toEqual([method, 404, '/unknown/a%20b']);
    }
  });

  suite.law('a path without a route for the method is answered with the methods it has', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/k/:x', () => ok('')),
      route('PUT', '/k/:x', () => ok('')),
      route('POST', '/only', () => ok('')),
    ]);
    const answer = async (method: string, target: string): Promise<unknown[]> => {
      const reply = await harness.exchange(listener.address, { method, target });
      return [reply.status, reply.headers['allow']];
    };
    for (const method of ['DELETE', 'POST', 'OPTIONS', 'PATCH', 'PROPFIND']) {
      expect([method, ...(await answer(method, '/k/a%2fb'))]).toEqual([method, 405, 'GET, HEAD, PUT']);
    }
    expect(await answer('GET', '/only')).toEqual([405, 'POST']);
    expect(await answer('HEAD', '/only')).toEqual([405, 'POST']);
  });

  suite.law('an unknown expectation is refused; 100-continue is accepted', async (harness) => {
    const listener = await serve(harness, [route('PUT', '/k', ({ body }) => ok(body))]);
    for (const [expectation, status] of [
      ['more', 417],
      ['100-Continue', 200],
    ] as const) {
      const headers = [['Expect', expectation]] as const;
      const reply = await harness.exchange(listener.address, {
        method: 'PUT',
        target: '/k',
        headers,
        body: Buffer.from('abc'),
      });
      expect([expectation, reply.status]).toEqual([expectation, status]);
      expect(reply.headers['x-refused'] ?? reply.body.toString()).toBe(status === 417 ? '417' : 'abc');
      expect(reply.headers['x-refused-path']).toBe(status === 417 ? '/k' : undefined);
    }
  });

  suite.law('a body above the limit is refused; one at the limit passes', async (harness) => {
    let calls = 0;
    const listener = await serve(harness, [
      route('PUT', '/k', (request) => {
        calls += 1;
        return ok(String(request.body.length));
      }),
    ]);
    const put = (bytes: number): Promise<HttpReply> =>
      harness.exchange(listener.address, { method: 'PUT', target: '/k?a=b', body: Buffer.alloc(bytes, 1) });
    expect((await put(bodyBytesMax)).body.toString()).toBe(String(bodyBytesMax));
    const refused = await put(bodyBytesMax + 1);
    expect([refused.status, refused.headers['x-refused']]).toEqual([413, '413']);
    expect(refused.headers['x-refused-path']).toBe('/k');
    expect(calls).toBe(1);
  });
}

function budgetLaws(suite: LawRegister<HttpHarness>): void {
  suite.law(
    'a body that exceeds the shared budget is refused, and its reservation is returned',
    async (harness) => {
      const bodyBudget = new TestingBudget(50_000);
      const routes = [route('PUT', '/k', ({ body }) => ok(String(body.length)))];
      const service = { ...serviceOf(routes, []), bodyBudget };
      const listener = await harness.http.serve(harness.listenAddress, service);
      const put = async (bytes: number): Promise<unknown[]> => {
        const call = { method: 'PUT', target: '/k', body: Buffer.alloc(bytes, 1) };
        const { status, headers, body } = await harness.exchange(listener.address, call);
        return [status, headers['x-refused-path'] ?? body.toString()];
      };
      expect(await put(50_001)).toEqual([503, '/k']);
      expect(await put(50_000)).toEqual([200, '50000']);
      bodyBudget.resize(0, 40_000);
      expect(await put(20_000)).toEqual([503, '/k']);
      expect(await put(5_000)).toEqual([200, '5000']);
      bodyBudget.resize(40_000, 0);
      expect(await put(50_000)).toEqual([200, '50000']);
      expect([bodyBudget.refusedCount, bodyBudget.heldBytes]).toEqual([2, 0]);
    },
  );
}

function readingLaws(suite: LawRegister<HttpHarness>): void {
  suite.law(
    'a client that reads nothing of its answer is cut off; one that waits for it is not',
    async (harness) => {
      const counted: string[] = [];
      const answerMs = 200;
      const ended = new Deferred<void>();
      const routes = [
        route('GET', '/whole', () => ok(Buffer.alloc(16 * 1024 ** 2, 1))),
        route('GET', '/stream', () =>
          okStream(
            (async function* () {
              try {
                for (;;) yield Promise.resolve(Buffer.alloc(1024 ** 2, 1));
              } finally {
                ended.resolve();
              }
            })(),
          ),
        ),
        route('GET', '/late', async () => {
          await sleep(harness.clock, 3 * answerMs * 1000);
          return ok('late');
        }),
      ];
      const service = { ...serviceOf(routes, counted), answerTimeoutMs: answerMs };
      const listener = await harness.http.serve(harness.listenAddress, service);
      const patient = harness.exchange(listener.address, { method: 'GET', target: '/late' });
      await harness.ignore(listener.address, { method: 'GET', target: '/whole' });
      await harness.ignore(listener.address, { method: 'GET', target: '/stream' });
      await ended.promise;
      expect((await patient).body.toString()).toBe('late');
      const cut = (): number => counted.filter((cause) => cause === 'closedHere').length;
      for (let looks = 0; looks < 200 && cut() < 2; looks++) await sleep(harness.clock, 10_000);
      expect(cut()).toBe(2);
    },
  );
}

function listenerLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('an address can be served only once at a time', async (harness) => {
    const listener = await serve(harness, []);
    const error = await harness.http
      .serve(listener.address, serviceOf([], []))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ListenError);
  });

  suite.law('closing lets the request under way finish and accepts no other', async (harness) => {
    const started = new Deferred<void>();
    const gate = new Deferred<void>();
    const listener = await serve(harness, [
      route('GET', '/slow', async () => {
        started.resolve();
        await gate.promise;
        return ok('finished');
      }),
    ]);
    const slow = harness.exchange(listener.address, { method: 'GET', target: '/slow' });
    await started.promise;
    const closing = listener.close(5000);
    await sleep(harness.clock, 20_000);
    const late = harness.exchange(listener.address, { method: 'GET', target: '/slow' });
    await expect(late).rejects.toThrow();
    gate.resolve();
    expect((await slow).body.toString()).toBe('finished');
    await closing;
  });

  suite.law('closing cuts requests that do not finish in time', async (harness) => {
    const started = new Deferred<void>();
    const never = new Deferred<HttpResponse>();
    const listener = await serve(harness, [
      route('GET', '/stuck', () => {
        started.resolve();
        return never.promise;
      }),
    ]);
    const stuck = expect(
      harness.exchange(listener.address, { method: 'GET', target: '/stuck' }),
    ).rejects.toThrow();
    await started.promise;
    await listener.close(100);
    await stuck;
  });

  suite.law('every connection is counted when it opens and when it closes', async (harness) => {
    const counted: string[] = [];
    const listener = await serve(harness, [route('GET', '/', () => ok(''))], counted);
    for (let round = 0; round < 3; round++)
      await harness.exchange(listener.address, { method: 'GET', target: '/' });
    await sleep(harness.clock, 50_000);
    expect(counted.filter((event) => event === 'opened').length).toBe(3);
    expect(counted.filter((event) => event !== 'opened').length).toBe(3);
    expect(counted).not.toContain('error');
    await listener.close(100);
  });
}
