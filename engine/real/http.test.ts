import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { RequestBudget } from '../api/session/request-budget.ts';
import { httpContract } from '../io/http.contract.ts';
import { ok, route, serviceOf } from '../io/http-serving.contract.ts';
import type { HttpListener, HttpResponse, HttpRoute, HttpService } from '../io/http.ts';
import type { Address } from '../io/network.ts';
import { exchange, logInto, machineHttpHarness, open, say } from './http-harness.fixture.ts';
import { createRealHttp } from './http.ts';

httpContract('machine', () => machineHttpHarness());

describe('HTTP on a machine', () => {
  it('header names go out with the spelling of the service', async () => {
    await serving(
      [route('GET', '/', () => ({ status: 200, headers: { 'X-Riak-Vclock': 'a' }, body: '' }))],
      {},
      async ({ address }) => {
        expect(await say(address, 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toContain(
          '\r\nX-Riak-Vclock: a\r\n',
        );
      },
    );
  });

  it('short and long bodies, of text and of bytes, arrive unchanged', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    const bodies = ['', 'abc', 'ä€😀', 'x'.repeat(40_000), 'ä'.repeat(9000)].map((text) => Buffer.from(text));
    const asBytes = [all, Buffer.concat(Array<Buffer>(32).fill(all)), Buffer.alloc(8193, 0xff)];
    const routes = [
      ...bodies.map((body, index) => route('GET', `/text/${index}`, () => ok(body.toString()))),
      ...asBytes.map((body, index) => route('GET', `/bytes/${index}`, () => ok(body))),
    ];
    await serving(routes, {}, async ({ address }) => {
      const paths = routes.map(({ path }) => path);
      const expected = [...bodies, ...asBytes].map((body) => body.toString('latin1'));
      const ask = (path: string, method: string, more = ''): string =>
        `${method} ${path} HTTP/1.1\r\nHost: h\r\n${more}\r\n`;
      for (const [index, path] of paths.entries()) {
        const body = expected[index] ?? '';
        const got = await say(address, ask(path, 'GET', 'Connection: close\r\n'));
        expect(got).toContain(`\r\nContent-Length: ${body.length}\r\n`);
        expect(got.slice(got.indexOf('\r\n\r\n') + 4)).toBe(body);
        const head = await say(address, ask(path, 'HEAD', 'Connection: close\r\n'));
        expect(head).toContain(`\r\nContent-Length: ${body.length}\r\n`);
        expect(head.endsWith('\r\n\r\n')).toBe(true);
      }
      // Pipelined in one piece: answered in order, whole.
      const close = 'Connection: close\r\n';
      const asked = paths.map((path, index) => ask(path, 'GET', index === paths.length - 1 ? close : ''));
      const answers = await say(address, asked.join(''));
      let at = 0;
      for (const body of expected) {
        const bodyAt = answers.indexOf('\r\n\r\n', at) + 4;
        expect(answers.slice(bodyAt, bodyAt + body.length)).toBe(body);
        at = bodyAt + body.length;
      }
      expect(at).toBe(answers.length);
    });
  });

  it('an answer that cannot be written fails alone, and does not delay the other answers of its turn', async () => {
    const broken = { status: 200, headers: { 'X-Broken': 'a\nb' }, body: '' };
    const routes = [
      route('GET', '/broken', () => broken),
      route('GET', '/whole', () => ok('whole')),
      route('PUT', '/late', async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return broken;
      }),
    ];
    await serving(routes, {}, async ({ address }) => {
      const ask = (line: string): Promise<string> =>
        say(address, `${line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
      const [first, whole, late] = await Promise.all([
        ask('GET /broken'),
        ask('GET /whole'),
        ask('PUT /late'),
      ]);
      expect(first).toMatch(/^HTTP\/1\.1 500 /);
      expect(whole.endsWith('whole')).toBe(true);
      expect(late).toMatch(/^HTTP\/1\.1 500 /);
    });
  });

  it('input that is not HTTP is answered 400 and counted as an error', async () => {
    await serving([], {}, async ({ address, counted }) => {
      const answer = await say(address, '\x16\x03\x01 what is this\r\n\r\n');
      expect(answer.startsWith('HTTP/1.1 400 Bad Request\r\nX-Refused: 400\r\n')).toBe(true);
      await eventually(() => counted.length === 2);
      expect(counted).toEqual(['opened', 'error']);
    });
  });

  it('a header beyond the limit is answered 431', async () => {
    await serving([], {}, async ({ address }) => {
      const answer = await say(address, `GET / HTTP/1.1\r\nHost: h\r\nX: ${'y'.repeat(300_000)}\r\n\r\n`);
      expect(answer.startsWith('HTTP/1.1 431 ')).toBe(true);
    });
  });

  it('an incomplete request is answered 408', async () => {
    await serving(
      [route('PUT', '/k', () => ok(''))],
      { requestTimeoutMs: 200 },
      async ({ address, counted }) => {
        const answer = await say(address, 'PUT /k HTTP/1.1\r\nHost: h\r\nContent-Le');
        expect(answer.startsWith('HTTP/1.1 408 ')).toBe(true);
        await eventually(() => counted.length === 2);
        expect(counted).toEqual(['opened', 'error']);
      },
    );
  });

  it('a request that stops within its body is answered 408', async () => {
    await serving([route('PUT', '/k', () => ok(''))], { requestTimeoutMs: 200 }, async ({ address }) => {
      const asked = 'PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc';
      expect((await say(address, asked)).startsWith('HTTP/1.1 408 ')).toBe(true);
    });
  });

  it('a request without a host or with an unknown expectation gets the service’s refusal', async () => {
    await serving([route('GET', '/k', () => ok('found'))], {}, async ({ address, counted }) => {
      for (const expect100 of ['', 'Expect: 100-continue\r\n', 'Expect: more\r\n']) {
        const answer = await say(address, `GET /k HTTP/1.1\r\n${expect100}\r\n`);
        expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nX-Refused: 400\r\n/);
        expect(answer).toContain('\r\nConnection: close\r\n');
        expect(answer.endsWith('the header Host is missing')).toBe(true);
      }
      await eventually(() => counted.length === 6);
      expect(counted.filter((cause) => cause === 'error')).toHaveLength(3);
      const old = await say(address, 'GET /k HTTP/1.0\r\n\r\n');
      expect(old.endsWith('found')).toBe(true);
      const odd = await say(
        address,
        'GET /k HTTP/1.1\r\nHost: h\r\nExpect: more\r\nConnection: close\r\n\r\n',
      );
      expect(odd).toMatch(/^HTTP\/1\.1 417 Expectation Failed\r\nX-Refused: 417\r\n/);
    });
  });

  it('a client that expects 100 gets it, unless its body is refused for its length', async () => {
    await serving([route('PUT', '/k', ({ body }) => ok(`${body.length} bytes`))], {}, async ({ address }) => {
      const put = (bytes: number): string =>
        `PUT /k HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: ${bytes}\r\n\r\n`;
      const refused = await say(address, put(5_000_000));
      expect(refused).toMatch(/^HTTP\/1\.1 413 Payload Too Large\r\nX-Refused: 413\r\n/);
      const client = await open(address);
      const heard: Buffer[] = [];
      client.on('data', (chunk: Buffer) => heard.push(chunk));
      client.write(put(3));
      await once(client, 'data');
      client.write('abc');
      await once(client, 'close');
      const told = Buffer.concat(heard).toString();
      expect(told.startsWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n')).toBe(true);
      expect(told.endsWith('3 bytes')).toBe(true);
    });
  });

  it('a malformed chunk is answered 400, after the answer to the preceding request', async () => {
    const gate = new Deferred<void>();
    let late = 0;
    const routes = [
      route('PUT', '/k', () => ok('stored')),
      route('GET', '/late', async () => {
        await gate.promise;
        late += 1;
        return ok('late');
      }),
    ];
    const head = 'HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
    await serving(routes, {}, async ({ address, counted, logged }) => {
      for (const broken of ['zz\r\nabc\r\n0\r\n\r\n', '3\r\nabcno end of it\r\n', '3\r\nabcd\r\n0\r\n\r\n']) {
        const answer = await say(address, `PUT /k ${head}${broken}${'more '.repeat(10_000)}`);
        expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nX-Refused: 400\r\n/);
        expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
      }
      // A GET's handler does not wait for a body: it is at work by then, and its answer is discarded.
      const asked = await say(address, `GET /late ${head}zz\r\n`);
      expect(asked.startsWith('HTTP/1.1 400 ')).toBe(true);
      const pipelined = say(address, `GET /late HTTP/1.1\r\nHost: h\r\n\r\nPUT /k ${head}zz\r\n`);
      await pause(50);
      gate.resolve();
      const both = await pipelined;
      expect(both.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['200', '400']);
      expect(both).toContain('late');
      expect(late).toBe(2);
      expect((await exchange(address, { method: 'PUT', target: '/k' })).status).toBe(200);
      await eventually(() => counted.length === 12);
      expect(counted.filter((cause) => cause === 'error')).toHaveLength(5);
      expect(logged).toEqual([]);
    });
  });

  it('a client that ends in order is counted as eof, one that resets as an error', async () => {
    await serving([route('GET', '/', () => ok(''))], {}, async ({ address, counted }) => {
      const orderly = await open(address);
      orderly.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
      await once(orderly, 'data');
      orderly.end();
      await eventually(() => counted.length === 2);
      const broken = await open(address);
      broken.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
      await once(broken, 'data');
      broken.resetAndDestroy();
      await eventually(() => counted.length === 4);
      expect(counted).toEqual(['opened', 'eof', 'opened', 'error']);
    });
  });

  it('a connection above the limit is closed at once, and not counted, while all others are being answered', async () => {
    const never = new Deferred<HttpResponse>();
    const routes = [route('GET', '/never', () => never.promise)];
    await serving(routes, { connectionCountMax: 2 }, async ({ address, counted }) => {
      const kept = [await open(address), await open(address)];
      for (const socket of kept) socket.write('GET /never HTTP/1.1\r\nHost: h\r\n\r\n');
      await pause(50);
      const refused = await open(address);
      refused.resume();
      await once(refused, 'close');
      expect(counted).toEqual(['opened', 'opened']);
      for (const socket of kept) socket.destroy();
    });
  });

  it('a chunked body above the limit is refused as one with a length is, and the connection goes on', async () => {
    await serving([route('PUT', '/k', () => ok('stored'))], {}, async ({ address }) => {
      const chunk = `${(50_000).toString(16)}\r\n${'z'.repeat(50_000)}\r\n`;
      const big = `PUT /k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(100)}0\r\n\r\n`;
      const small = 'PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx';
      const answer = await say(address, big + small);
      expect(answer.startsWith('HTTP/1.1 413 ')).toBe(true);
      expect(answer.endsWith('stored')).toBe(true);
    });
  });

  it('incomplete bodies share a bound; a request above it is refused, and others are served', async () => {
    const bodyBudget = new RequestBudget(1024 * 1024);
    const limits = { bodyBytesMax: 4 * 1024 * 1024, bodyBudget };
    const put = route('PUT', '/k', ({ body }) => ok(`${body.length} bytes`));
    await serving([put], limits, async ({ address, logged }) => {
      const announcing = (bytes: number): string =>
        `PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: ${bytes}\r\n\r\n`;
      const small = 'PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx';
      const stuck = await open(address);
      stuck.write(announcing(700_000) + 'x'.repeat(600_000));
      await eventually(() => !bodyBudget.hasRoomFor(300_000));
      const announced = await say(address, announcing(300_000) + 'x'.repeat(300_000) + small);
      expect(announced).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\nX-Refused: 503\r\n/);
      expect(announced).toContain('client_request_bytes_max');
      expect(announced.endsWith('1 bytes')).toBe(true);
      const chunk = `${(50_000).toString(16)}\r\n${'z'.repeat(50_000)}\r\n`;
      const head = 'PUT /k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
      const chunked = await say(address, `${head}${chunk.repeat(20)}0\r\n\r\n${small}`);
      expect([chunked.slice(0, 12), chunked.endsWith('1 bytes')]).toEqual(['HTTP/1.1 503', true]);
      const heard = once(stuck, 'data');
      stuck.write('x'.repeat(100_000));
      expect(String(await heard)).toMatch(/700000 bytes$/);
      const gone = await open(address);
      gone.write(announcing(700_000) + 'x'.repeat(600_000));
      await eventually(() => !bodyBudget.hasRoomFor(300_000));
      gone.destroy();
      await eventually(() => bodyBudget.hasRoomFor(300_000));
      stuck.destroy();
      // No handler has failed.
      expect(logged).toEqual([]);
    });
  });

  it('an answer whose headers cannot be sent becomes a 500, and the server keeps serving', async () => {
    const routes = [
      route('GET', '/bad', () => ({ status: 200, headers: { 'X-A': 'line\r\nbreak' }, body: 'x' })),
      route('GET', '/late', async () => ({ status: 200, headers: { 'X-A': '\u{1f600}' }, body: 'x' })),
      route('GET', '/good', () => ok('x')),
    ];
    await serving(routes, {}, async ({ address, logged }) => {
      expect((await exchange(address, { method: 'GET', target: '/bad' })).status).toBe(500);
      expect((await exchange(address, { method: 'GET', target: '/late' })).status).toBe(500);
      expect((await exchange(address, { method: 'GET', target: '/good' })).status).toBe(200);
      expect(logged).toEqual(['http.handler.failed', 'http.handler.failed']);
    });
  });

  it('a target in absolute form is served as its path', async () => {
    await serving(
      [route('GET', '/a/:b', (asked) => ok(`${asked.path} ${asked.params['b'] ?? ''}`))],
      {},
      async ({ address }) => {
        const reply = await exchange(address, { method: 'GET', target: 'http://h.example:1/a/%20?x' });
        expect(reply.body.toString()).toBe('/a/%20 %20');
      },
    );
  });

  it('no more than one piece is read from a client that pipelines and reads nothing, and others are served', async () => {
    const request = 'GET /large HTTP/1.1\r\nHost: h\r\n\r\n';
    // All answers share their bytes, as those of the statistics do.
    const body = Buffer.alloc(128 * 1024, 'x');
    let handled = 0;
    const large = route('GET', '/large', () => {
      handled += 1;
      return { status: 200, headers: {}, body };
    });
    await serving([large, route('GET', '/', () => ok('x'))], {}, async ({ address }) => {
      const silent = await open(address);
      silent.pause();
      silent.write(request.repeat(20 * Math.ceil(pieceBytes / request.length)));
      for (let before = -1; before !== handled;) {
        before = handled;
        expect((await exchange(address, { method: 'GET', target: '/' })).status).toBe(200);
        await pause(100);
      }
      expect(handled).toBeGreaterThan(0);
      expect(handled).toBeLessThanOrEqual(pieceBytes / request.length + 1);
      silent.destroy();
    });
  });

  it('closing closes a connection that is kept alive after the answer under way', async () => {
    const started = new Deferred<void>();
    const gate = new Deferred<void>();
    const slow = route('GET', '/', async () => {
      started.resolve();
      await gate.promise;
      return ok('x');
    });
    await serving([slow], {}, async ({ address, listener }) => {
      const client = await open(address);
      client.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
      await started.promise;
      const closing = listener.close(beyondTheTest);
      gate.resolve();
      const [answer] = await once(client, 'data');
      await closing;
      expect(String(answer)).toContain('\r\nConnection: close\r\n');
    });
  });

  it('closing does not wait for idle connections', async () => {
    await serving([route('GET', '/', () => ok(''))], {}, async ({ address, listener, counted }) => {
      const silent = await open(address);
      const idle = await open(address);
      idle.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
      await once(idle, 'data');
      await listener.close(beyondTheTest);
      expect(counted).toEqual(['opened', 'opened', 'closedHere', 'closedHere']);
      silent.destroy();
      idle.destroy();
    });
  });
});

/** Bytes that the server reads from a client at once. */
const pieceBytes = 64 * 1024;

interface Served {
  readonly address: Address;
  readonly listener: HttpListener;
  readonly counted: string[];
  readonly logged: string[];
}

async function serving(
  routes: readonly HttpRoute[],
  limits: Partial<HttpService>,
  body: (served: Served) => Promise<void>,
): Promise<void> {
  const counted: string[] = [];
  const logged: string[] = [];
  const http = createRealHttp(logInto(logged));
  const listener = await http.serve('127.0.0.1:0', { ...serviceOf(routes, counted), ...limits });
  try {
    await body({ address: listener.address, listener, counted, logged });
  } finally {
    await listener.close(0);
  }
}

/** Milliseconds; a longer wait does not end within its test. */
const beyondTheTest = 3_600_000;

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await pause(10);
}

async function pause(ms: number): Promise<void> {
  const tick = new Deferred<void>();
  setTimeout(() => tick.resolve(), ms);
  await tick.promise;
}
