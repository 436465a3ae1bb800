/**
 * The laws of the HTTP port (`http.ts`) about pipelined requests: several on one connection without waiting for
 * answers.
 */
import { expect } from 'vitest';
import { sleep } from './clock.ts';
import type { HttpRequest, HttpResponse } from './http.ts';
import type { HttpHarness } from './http-serving.contract.ts';
import { ok, route, serve } from './http-serving.contract.ts';
import type { LawRegister } from './law.contract.ts';

export function turnLaws(suite: LawRegister<HttpHarness>): void {
  suite.law(
    'the requests of a connection are handled one after another, each answered before the next',
    async (harness) => {
      const story: string[] = [];
      const step = async (request: HttpRequest, waitUs: number): Promise<HttpResponse> => {
        const name = `${request.method} ${request.path} ${Buffer.from(request.body).toString()}`.trim();
        story.push(name);
        await sleep(harness.clock, waitUs);
        story.push(`${name} done`);
        return ok(`(${name})`);
      };
      const routes = [
        route('PUT', '/k', (request) => step(request, 20_000)),
        route('GET', '/k', (request) => step(request, 10_000)),
        route('GET', '/k/:x', (request) => (story.push(request.path), ok(`(${request.path})`))),
      ];
      const { address } = await serve(harness, routes);
      const head = 'HTTP/1.1\r\nHost: h\r\n';
      const put = (body: string) => `PUT /k ${head}Content-Length: ${body.length}\r\n\r\n${body}`;
      const get = (path: string) => `GET ${path} ${head}\r\n`;
      const asked = [put('one'), get('/k'), get('/k/a'), get('/k/b'), put('two'), get('/none'), get('/k')];
      const heard = await harness.say(
        address,
        `${asked.join('')}GET /k/last ${head}Connection: close\r\n\r\n`,
      );
      const answers = [
        '(PUT /k one)',
        '(GET /k)',
        '(/k/a)',
        '(/k/b)',
        '(PUT /k two)',
        '(GET /k)',
        '(/k/last)',
      ];
      expect(heard.match(/\([^)]+\)/g)).toEqual(answers);
      expect(heard.match(/HTTP\/1.1 \d+/g)).toEqual(
        [200, 200, 200, 200, 200, 404, 200, 200].map((status) => `HTTP/1.1 ${status}`),
      );
      const both = (name: string) => [name, `${name} done`];
      expect(story).toEqual([
        ...both('PUT /k one'),
        ...both('GET /k'),
        '/k/a',
        '/k/b',
        ...both('PUT /k two'),
        ...both('GET /k'),
        '/k/last',
      ]);
    },
  );

  suite.law(
    'pipelined large bodies arrive whole, each beginning while the preceding request is handled',
    async (harness) => {
      const handled: number[] = [];
      const put = route('PUT', '/k', async ({ body }) => {
        await sleep(harness.clock, 5_000);
        handled.push(body.length);
        return ok(`(${body.length})`);
      });
      const { address } = await serve(harness, [put]);
      const sizes = [90_000, 1, 99_000, 0, 100_000, 70_000];
      const asked = sizes.map((size, index) => {
        const last = index === sizes.length - 1 ? 'Connection: close\r\n' : '';
        return `PUT /k HTTP/1.1\r\nHost: h\r\n${last}Content-Length: ${size}\r\n\r\n${'x'.repeat(size)}`;
      });
      const heard = await harness.say(address, asked.join(''));
      expect(heard.match(/\([^)]+\)/g)).toEqual(sizes.map((size) => `(${size})`));
      expect(handled).toEqual(sizes);
    },
  );

  suite.law('thousands of pipelined requests of one client do not delay other clients', async (harness) => {
    let underWay = 0;
    let most = 0;
    const slow = route('GET', '/slow', async () => {
      most = Math.max(most, ++underWay);
      await sleep(harness.clock, 2_000);
      underWay -= 1;
      return ok('');
    });
    const { address } = await serve(harness, [slow, route('GET', '/', () => ok('here'))]);
    const asking = harness.say(address, 'GET /slow HTTP/1.1\r\nHost: h\r\n\r\n'.repeat(5_000));
    await sleep(harness.clock, 50_000);
    expect((await harness.exchange(address, { method: 'GET', target: '/' })).body.toString()).toBe('here');
    expect(most).toBe(1);
    asking.catch(() => '');
  });
}
