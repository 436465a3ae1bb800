/**
 * The laws of the HTTP port (`http.ts`) about one exchange: the request as the handler gets it, the answer as it goes
 * out.
 */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { sleep } from './clock.ts';
import type { HttpRequest, HttpResponse } from './http.ts';
import type { HttpHarness } from './http-serving.contract.ts';
import { ok, okStream, route, serve } from './http-serving.contract.ts';
import type { LawRegister } from './law.contract.ts';

export function exchangeLaws(suite: LawRegister<HttpHarness>): void {
  requestLaws(suite);
  answerLaws(suite);
  streamLaws(suite);
}

function requestLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('the handler gets the request as it stands on the wire', async (harness) => {
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

  suite.law('a path with a trailing slash takes the route of the path without it', async (harness) => {
    const told = (request: HttpRequest): HttpResponse =>
      ok(`${request.method} ${request.params['name'] ?? 'none'}`);
    const listener = await serve(harness, [
      route('GET', '/ping', told),
      route('GET', '/things', told),
      route('POST', '/things', told),
      route('PUT', '/things/:name', told),
    ]);
    const ask = async (method: string, target: string): Promise<string> => {
      const { status, body } = await harness.exchange(listener.address, { method, target });
      return `${status} ${body.toString()}`;
    };
    expect(await ask('GET', '/ping/')).toBe('200 GET none');
    expect(await ask('GET', '/ping/?x=1')).toBe('200 GET none');
    expect(await ask('POST', '/things/')).toBe('200 POST none');
    expect(await ask('PUT', '/things/a/')).toBe('200 PUT a');
    expect(await ask('PUT', '/things/a%2F')).toBe('200 PUT a%2F');
    expect(await ask('PUT', '/ping/')).toContain('405');
    expect(await ask('GET', '/pong/')).toContain('404');
  });

  suite.law('the memory of a whole body may be used again once the port says so', async (harness) => {
    const memory = Buffer.alloc(1 << 20);
    let taken = 0;
    const reuse = (): void => {
      taken += 1;
      memory.fill(0);
    };
    const listener = await serve(harness, [
      route('GET', '/fill/:byte', ({ params }) => {
        memory.fill(Number(params['byte']));
        return { ...ok(memory), taken: reuse };
      }),
      route('GET', '/', () => ok('here')),
    ]);
    for (const byte of [1, 2, 3]) {
      const { body } = await harness.exchange(listener.address, { method: 'GET', target: `/fill/${byte}` });
      expect([body.length, body.every((one) => one === byte)]).toEqual([1 << 20, true]);
      // The client may have the last bytes before the port hears that they have left.
      await harness.exchange(listener.address, { method: 'GET', target: '/' });
      expect(taken).toBe(byte);
    }
  });

  suite.law('every answer of a handler has the header Server', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/whole', () => ok('x')),
      route('GET', '/stream', () =>
        okStream(
          (async function* () {
            yield Buffer.from('x');
          })(),
        ),
      ),
    ]);
    for (const target of ['/whole', '/stream', '/nowhere']) {
      const { headers } = await harness.exchange(listener.address, { method: 'GET', target });
      expect(headers['server']).toBe('Testing/1');
    }
  });

  suite.law(
    'a stream whose length the handler states goes out as one body of that length',
    async (harness) => {
      const stream = okStream(
        (async function* () {
          for (const part of ['one', 'two', 'three']) yield Promise.resolve(Buffer.from(part));
        })(),
      );
      const listener = await serve(harness, [
        route('GET', '/known', () => ({ ...stream, headers: { 'Content-Length': '11' } })),
      ]);
      for (const [method, body] of [
        ['GET', 'onetwothree'],
        ['HEAD', ''],
      ] as const) {
        const answer = await harness.exchange(listener.address, { method, target: '/known' });
        const { 'content-length': length, 'transfer-encoding': coding } = answer.headers;
        expect([length, coding, answer.body.toString()]).toEqual(['11', undefined, body]);
      }
    },
  );

  suite.law('a literal route takes precedence over a route with parameters', async (harness) => {
    const listener = await serve(harness, [
      route('GET', '/things/:name', (request) => ok(`the thing ${request.params['name'] ?? ''}`)),
      route('GET', '/things/all', () => ok('all things')),
    ]);
    const get = async (target: string): Promise<string> =>
      (await harness.exchange(listener.address, { method: 'GET', target })).body.toString();
    expect(await get('/things/all')).toBe('all things');
    expect(await get('/things/al')).toBe('the thing al');
  });

  suite.law('every byte passes in both directions', async (harness) => {
    const listener = await serve(harness, [route('POST', '/echo', (request) => ok(request.body))]);
    const body = Buffer.from(Array.from({ length: 2048 }, (_, index) => index & 0xff));
    const reply = await harness.exchange(listener.address, { method: 'POST', target: '/echo', body });
    expect(reply.body).toEqual(body);
    expect(reply.headers['content-length']).toBe('2048');
  });

  suite.law('a body passes whatever its content type says, or without one', async (harness) => {
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

  suite.law('a request without a body has an empty one', async (harness) => {
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

  suite.law('a key of 32 KiB passes, each byte percent-encoded', async (harness) => {
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

function answerLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('status, headers and body are those of the handler', async (harness) => {
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

  suite.law(
    'a body is sent as it is, short or long, text or bytes, beside a header beyond ASCII',
    async (harness) => {
      const sizes = [0, 1, 4095, 4096, 4097, 20_000];
      const bytesOf = (size: number): Buffer =>
        Buffer.from(Array.from({ length: size }, (_, at) => at & 0xff));
      const forms: readonly ((size: number) => Uint8Array | string)[] = [
        bytesOf,
        (size) => 'a'.repeat(size),
        (size) => '\u20ac'.repeat(size / 3),
        (size) => '\u00e4'.repeat(size / 2),
      ];
      const headers = { 'X-Riak-Meta-Name': 'caf\u00e9' };
      const listener = await serve(harness, [
        route('GET', '/:form/:size', ({ params }) => {
          const body = forms[Number(params['form'])]?.(Number(params['size'])) ?? '';
          return { status: 200, headers, body };
        }),
      ]);
      for (const [form, make] of forms.entries()) {
        for (const size of sizes) {
          const target = `/${form}/${size}`;
          const reply = await harness.exchange(listener.address, { method: 'GET', target });
          const whole = Buffer.from(make(size));
          expect(reply.headers['content-length'], target).toBe(String(whole.length));
          expect(reply.headers['x-riak-meta-name'], target).toBe('caf\u00e9');
          expect(reply.body.equals(whole), target).toBe(true);
        }
      }
    },
  );

  suite.law(
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

  suite.law('HEAD answers as GET does, without the body', async (harness) => {
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

  suite.law('a handler that fails is answered 500, and the next request is served', async (harness) => {
    let failing = true;
    const listener = await serve(harness, [
      route('GET', '/page', async () => {
        if (failing) throw new RangeError('a bug');
        return ok('fine');
      }),
    ]);
    const broken = await harness.exchange(listener.address, { method: 'GET', target: '/page' });
    expect([broken.status, broken.headers['x-refused']]).toEqual([500, '500']);
    expect(broken.headers['x-refused-path']).toBe('/page');
    expect(broken.body.includes('a bug')).toBe(false);
    failing = false;
    expect(
      (await harness.exchange(listener.address, { method: 'GET', target: '/page' })).body.toString(),
    ).toBe('fine');
  });
}

function streamLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('a body made while it is sent arrives whole and in order', async (harness) => {
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

  suite.law('a body that fails while it is sent never looks complete to a client', async (harness) => {
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

  suite.law(
    'a body is produced no faster than the client reads, and its iteration ends when the client goes',
    async (harness) => {
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
    },
  );

  suite.law('onGone reports a client that disconnects before its answer, and no other', async (harness) => {
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
