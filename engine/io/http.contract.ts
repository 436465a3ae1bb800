/** The laws of the HTTP edge (http.ts), for both implementations. */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { sleep } from './clock.ts';
import type {
  Http,
  HttpListener,
  HttpRequest,
  HttpResponse,
  HttpRoute,
  HttpService,
  HttpStream,
} from './http.ts';
import type { Harness, LawBook, MakeHarness, Skips } from './law.contract.ts';
import { contract } from './law.contract.ts';
import type { Address } from './network.ts';
import { ListenError } from './network.ts';

export interface HttpHarness extends Harness {
  readonly http: Http;
  /** An address of the host with port 0. */
  readonly listenAddress: Address;
  /** A client's exchange on a connection of its own, closed afterwards. Rejects when no whole answer comes. */
  exchange(address: Address, call: HttpCall): Promise<HttpReply>;
  /** A client that asks and goes away after a while. Resolves when it has. */
  abandon(address: Address, call: HttpCall): Promise<void>;
}

export interface HttpCall {
  readonly method: string;
  /** Path and query as they go over the wire. */
  readonly target: string;
  /** In this order; a name may be repeated. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Uint8Array;
}

export interface HttpReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

const bodyBytesMax = 100_000;

export function httpContract(name: string, makeHarness: MakeHarness<HttpHarness>, skips: Skips = {}): void {
  contract(`http: ${name}`, makeHarness, skips, (book) => {
    requestLaws(book);
    answerLaws(book);
    streamLaws(book);
    refusalLaws(book);
    listenerLaws(book);
  });
}

function requestLaws(book: LawBook<HttpHarness>): void {
  book.law('the handler gets the request as it stands on the wire', async (harness) => {
    const seen: HttpRequest[] = [];
    const listener = await serve(harness, [
      route('PUT', '/b/:bucket/k/:key', (request) => (seen.push(request), ok(''))),
    ]);
    await harness.exchange(listener.address, {
      method: 'PUT',
      target: '/b/a%2Fb/k/%E9+%c3%A4%25?r=quorum&x=%20%26&r=2',
      headers: [
        ['Content-Type', 'application/x-thing; charset=q'],
        ['X-Riak-Meta-One', '1'],
        ['Link', '</b/x>; tag="a"'],
        ['Link', '</b/y>; tag="b"'],
      ],
      body: Buffer.from('the body'),
    });
    const request = seen[0];
    expect(seen.length).toBe(1);
    expect(request?.method).toBe('PUT');
    expect(request?.params).toEqual({ bucket: 'a%2Fb', key: '%E9+%c3%A4%25' });
    expect(request?.path).toBe('/b/a%2Fb/k/%E9+%c3%A4%25');
    expect(request?.query.getAll('r')).toEqual(['quorum', '2']);
    expect(request?.query.get('x')).toBe(' &');
    expect(request?.headers['content-type']).toBe('application/x-thing; charset=q');
    expect(request?.headers['x-riak-meta-one']).toBe('1');
    expect(request?.headers['link']).toBe('</b/x>; tag="a", </b/y>; tag="b"');
    expect(Buffer.from(request?.body ?? []).toString()).toBe('the body');
    expect(request?.remote.length).toBeGreaterThan(0);
  });

  book.law('a route of words goes before a route of parameters', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/things/:name', (request) => ok(`the thing ${request.params['name'] ?? ''}`)),
      route('GET', '/things/all', () => ok('all things')),
    ]);
    const get = async (target: string): Promise<string> =>
      (await harness.exchange(listener.address, { method: 'GET', target })).body.toString();
    expect(await get('/things/all')).toBe('all things');
    expect(await get('/things/al')).toBe('the thing al');
  });

  book.law('every byte passes in both directions', async (harness) => {
    const listener = await serve(harness, [route('POST', '/echo', (request) => ok(request.body))]);
    const body = Buffer.from(Array.from({ length: 2048 }, (_, index) => index & 0xff));
    const reply = await harness.exchange(listener.address, { method: 'POST', target: '/echo', body });
    expect(reply.body).toEqual(body);
    expect(reply.headers['content-length']).toBe('2048');
  });

  book.law('a body passes whatever its content type says, or without one', async (harness) => {
    const listener = await serve(harness, [route('PUT', '/echo', (request) => ok(request.body))]);
    const types = [
      'application/json',
      'text/plain',
      'application/octet-stream',
      'not a type',
      ';;',
      '*/*',
      undefined,
    ];
    for (const type of types) {
      const reply = await harness.exchange(listener.address, {
        method: 'PUT',
        target: '/echo',
        headers: type === undefined ? [] : [['Content-Type', type]],
        body: Buffer.from('{"broken'),
      });
      expect([type, reply.status, reply.body.toString()]).toEqual([type, 200, '{"broken']);
    }
  });

  book.law('a request without a body has an empty one', async (harness) => {
    const listener = await serve(
      harness,
      (['GET', 'PUT', 'POST', 'DELETE'] as const).map((method) =>
        route(method, '/length', (request) => ok(String(request.body.length))),
      ),
    );
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      const reply = await harness.exchange(listener.address, { method, target: '/length' });
      expect([method, reply.status, reply.body.toString()]).toEqual([method, 200, '0']);
    }
  });

  book.law('a key of 32 KiB passes, each byte percent-encoded', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/b/:bucket/k/:key', (request) => ok(request.params['key'] ?? '')),
    ]);
    const key = Array.from(
      { length: 32_768 },
      (_, index) => `%${(index & 0xff).toString(16).padStart(2, '0')}`,
    ).join('');
    const reply = await harness.exchange(listener.address, { method: 'GET', target: `/b/x/k/${key}` });
    expect(reply.status).toBe(200);
    expect(reply.body.toString() === key).toBe(true);
  });
}

function answerLaws(book: LawBook<HttpHarness>): void {
  book.law('status, headers and body are those of the handler', async (harness) => {
    const headers = {
      'Content-Type': 'multipart/mixed; boundary=x',
      'X-Riak-Vclock': 'abc=',
      Link: '</b>; rel="up"',
    };
    const listener = await serve(harness, [
      route('GET', '/many', () => ({ status: 300, headers, body: 'Siblings:\nä\n' })),
      route('DELETE', '/none', () => ({ status: 204, headers: {}, body: '' })),
      route('GET', '/json', () => ({
        status: 200,
        headers: { 'Content-Type': 'application/json' },
        body: '{"a":1}',
      })),
    ]);
    const many = await harness.exchange(listener.address, { method: 'GET', target: '/many' });
    expect([many.status, many.body.toString()]).toEqual([300, 'Siblings:\nä\n']);
    expect(many.headers['content-type']).toBe('multipart/mixed; boundary=x');
    expect(many.headers['x-riak-vclock']).toBe('abc=');
    expect(many.headers['link']).toBe('</b>; rel="up"');
    expect(many.headers['content-length']).toBe(String(Buffer.byteLength('Siblings:\nä\n')));
    const none = await harness.exchange(listener.address, { method: 'DELETE', target: '/none' });
    expect([none.status, none.body.length]).toEqual([204, 0]);
    const json = await harness.exchange(listener.address, { method: 'GET', target: '/json' });
    expect(json.body.toString()).toBe('{"a":1}');
  });

  book.law(
    'an answer may be given later, and requests under way do not wait for one another',
    async (harness) => {
      const gate = new Deferred<void>();
      const listener = await serve(harness, [
        route('GET', '/slow', async () => {
          await gate.promise;
          return ok('slow');
        }),
        route('GET', '/quick', () => {
          gate.resolve();
          return ok('quick');
        }),
      ]);
      const slow = harness.exchange(listener.address, { method: 'GET', target: '/slow' });
      const quick = await harness.exchange(listener.address, { method: 'GET', target: '/quick' });
      expect([quick.body.toString(), (await slow).body.toString()]).toEqual(['quick', 'slow']);
    },
  );

  book.law('HEAD answers as GET does, without the body', async (harness) => {
    const methods: string[] = [];
    const listener = await serve(harness, [
      route('GET', '/page', (request) => {
        methods.push(request.method);
        return { status: 203, headers: { 'Content-Type': 'text/x', 'X-A': 'b' }, body: '0123456789' };
      }),
    ]);
    const reply = await harness.exchange(listener.address, { method: 'HEAD', target: '/page' });
    expect(reply.status).toBe(203);
    expect(reply.headers['content-length']).toBe('10');
    expect(reply.headers['content-type']).toBe('text/x');
    expect(reply.headers['x-a']).toBe('b');
    expect(reply.body.length).toBe(0);
    expect(methods).toEqual(['HEAD']);
  });

  book.law('a handler that fails is answered 500, and the next request is served', async (harness) => {
    let failing = true;
    const listener = await serve(harness, [
      route('GET', '/page', async () => {
        if (failing) throw new RangeError('a bug');
        return ok('fine');
      }),
    ]);
    const broken = await harness.exchange(listener.address, { method: 'GET', target: '/page' });
    expect([broken.status, broken.headers['x-refused']]).toEqual([500, '500']);
    expect(broken.body.includes('a bug')).toBe(false);
    failing = false;
    expect(
      (await harness.exchange(listener.address, { method: 'GET', target: '/page' })).body.toString(),
    ).toBe('fine');
  });
}

function streamLaws(book: LawBook<HttpHarness>): void {
  book.law('a body made while it is sent arrives whole and in order', async (harness) => {
    const chunks = Array.from({ length: 40 }, (_, index) => Buffer.alloc(1 + index * 997, index));
    const listener = await serve(harness, [
      route('GET', '/stream', () => ({
        status: 203,
        headers: { 'X-A': 'b' },
        body: (async function* () {
          for (const chunk of chunks) {
            await sleep(harness.clock, 1000);
            yield chunk;
          }
        })(),
      })),
    ]);
    for (let round = 0; round < 2; round++) {
      const reply = await harness.exchange(listener.address, { method: 'GET', target: '/stream' });
      expect([reply.status, reply.headers['x-a']]).toEqual([203, 'b']);
      expect(reply.headers['content-length']).toBeUndefined();
      expect(reply.headers['transfer-encoding']).toBe('chunked');
      expect(reply.body.equals(Buffer.concat(round === 0 ? chunks : []))).toBe(true);
      chunks.length = 0;
    }
    const head = await harness.exchange(listener.address, { method: 'HEAD', target: '/stream' });
    expect([head.status, head.body.length]).toEqual([203, 0]);
  });

  book.law('a body that fails while it is sent reaches no client as a whole', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/stream', () =>
        okStream(
          (async function* () {
            yield Buffer.from('begun');
            await sleep(harness.clock, 1000);
            throw new LockstepError('NoTargets', 'nobody is left');
          })(),
        ),
      ),
    ]);
    await expect(harness.exchange(listener.address, { method: 'GET', target: '/stream' })).rejects.toThrow();
  });

  book.law('who makes a body waits for the client, and hears when it has gone', async (harness) => {
    const chunk = Buffer.alloc(100_000, 1);
    let made = 0;
    let gone = 0;
    const ended = new Deferred<void>();
    const listener = await serve(harness, [
      route('GET', '/endless', (request) => {
        request.onGone(() => (gone += 1));
        return okStream(
          (async function* () {
            try {
              for (; made < 1000; made++) {
                await sleep(harness.clock, 2000);
                yield chunk;
              }
            } finally {
              ended.resolve();
            }
          })(),
        );
      }),
    ]);
    await harness.abandon(listener.address, { method: 'GET', target: '/endless' });
    await ended.promise;
    expect(made).toBeLessThan(1000);
    expect(gone).toBe(1);
  });

  book.law('a client that goes before the answer is noticed, one that stays is not', async (harness) => {
    let gone = 0;
    const left = new Deferred<void>();
    const listener = await serve(harness, [
      route('GET', '/late', async (request) => {
        request.onGone(() => left.resolve());
        await left.promise;
        return ok('');
      }),
      route('GET', '/soon', (request) => {
        request.onGone(() => (gone += 1));
        return ok('');
      }),
    ]);
    await harness.exchange(listener.address, { method: 'GET', target: '/soon' });
    await harness.abandon(listener.address, { method: 'GET', target: '/late' });
    await left.promise;
    await sleep(harness.clock, 20_000);
    expect(gone).toBe(0);
  });
}

function refusalLaws(book: LawBook<HttpHarness>): void {
  book.law('a path without a route is not found', async (harness) => {
    const listener = await serve(harness, [route('GET', '/known/:x', () => ok(''))]);
    for (const method of ['GET', 'PUT', 'HEAD', 'OPTIONS', 'PATCH', 'PROPFIND']) {
      const reply = await harness.exchange(listener.address, { method, target: '/unknown/a%20b?c=d' });
      expect([method, reply.status, reply.headers['x-path']]).toEqual([method, 404, '/unknown/a%20b']);
    }
  });

  book.law('a path without a route for the method says which it has', async (harness) => {
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

  book.law('an expectation that is not known is refused; to go on is one that is', async (harness) => {
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
    }
  });

  book.law('a body over the limit is refused, at the limit it passes', async (harness) => {
    let calls = 0;
    const listener = await serve(harness, [
      route('PUT', '/k', (request) => {
        calls += 1;
        return ok(String(request.body.length));
      }),
    ]);
    const put = (bytes: number): Promise<HttpReply> =>
      harness.exchange(listener.address, { method: 'PUT', target: '/k', body: Buffer.alloc(bytes, 1) });
    expect((await put(bodyBytesMax)).body.toString()).toBe(String(bodyBytesMax));
    const refused = await put(bodyBytesMax + 1);
    expect([refused.status, refused.headers['x-refused']]).toEqual([413, '413']);
    expect(calls).toBe(1);
  });
}

function listenerLaws(book: LawBook<HttpHarness>): void {
  book.law('an address is served once', async (harness) => {
    const listener = await serve(harness, []);
    const error = await harness.http
      .serve(listener.address, serviceOf([], []))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ListenError);
  });

  book.law('closing lets the request under way finish and takes no other', async (harness) => {
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

  book.law('closing cuts what is not finished in time', async (harness) => {
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

  book.law('every connection is counted when it opens and when it closes', async (harness) => {
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

function serve(
  harness: HttpHarness,
  routes: readonly HttpRoute[],
  counted: string[] = [],
): Promise<HttpListener> {
  return harness.http.serve(harness.listenAddress, serviceOf(routes, counted));
}

/** A service over these routes whose refusals tell what the door said. */
export function serviceOf(routes: readonly HttpRoute[], counted: string[]): HttpService {
  return {
    routes,
    bodyBytesMax,
    connectionCountMax: 100,
    requestTimeoutMs: 10_000,
    notFound: (request) => ({ status: 404, headers: { 'X-Path': request.path }, body: 'not found' }),
    methodNotAllowed: (_request, allow) => ({
      status: 405,
      headers: { Allow: allow.join(', ') },
      body: 'not allowed',
    }),
    refused: (status, reason) => ({ status, headers: { 'X-Refused': String(status) }, body: reason }),
    observer: {
      opened: () => void counted.push('opened'),
      closed: (cause) => void counted.push(cause),
    },
  };
}

/** A route whose handler is `handle`. */
export function route(method: HttpRoute['method'], path: string, handle: HttpRoute['handle']): HttpRoute {
  return { method, path, handle };
}

/** 200 with this body. */
export function ok(body: Uint8Array | string): HttpResponse {
  return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
}

function okStream(body: HttpStream): HttpResponse {
  return { status: 200, headers: {}, body };
}
