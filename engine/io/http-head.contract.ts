/** The laws of the HTTP port (`http.ts`) about refused heads, and about what may follow an answer. */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { sleep } from './clock.ts';
import type { HttpHarness } from './http-serving.contract.ts';
import { ok, route, serve, serviceOf } from './http-serving.contract.ts';
import type { HttpListener } from './http.ts';
import type { LawRegister } from './law.contract.ts';

const close = 'Connection: close\r\n';

/** A request with these header lines, each including its line end. */
function ask(line: string, headers: string, body = ''): string {
  const length = line.startsWith('PUT') ? `Content-Length: ${body.length}\r\n` : '';
  return `${line} HTTP/1.1\r\n${headers}${length}\r\n${body}`;
}

function statuses(heard: string): readonly string[] {
  return heard.match(/(?<=HTTP\/1\.1 )\d{3}/g) ?? [];
}

function fillers(count: number): string {
  return Array.from({ length: count }, (_, index) => `X-F${index}: v\r\n`).join('');
}

export function headLaws(suite: LawRegister<HttpHarness>): void {
  refusedHeadLaws(suite);
  lastAnswerLaws(suite);
  placeLaws(suite);
}

function refusedHeadLaws(suite: LawRegister<HttpHarness>): void {
  suite.law('a head with too many lines is refused, whatever they contain', async (harness) => {
    const seen: unknown[] = [];
    const put = route('PUT', '/k', ({ headers }) => {
      seen.push(headers['if-none-match']);
      return ok('');
    });
    const { address } = await serve(harness, [put]);
    // Host, Content-Length, Connection and the condition count as well.
    const withLines = (lines: number): string =>
      ask('PUT /k', `Host: h\r\n${close}${fillers(lines - 4)}If-None-Match: *\r\n`, 'ab');
    expect(statuses(await harness.say(address, withLines(256)))).toEqual(['200']);
    for (const lines of [257, 258, 300, 1100, 2100]) {
      const heard = await harness.say(address, withLines(lines));
      expect([lines, statuses(heard), heard.includes('X-Refused: 431')]).toEqual([lines, ['431'], true]);
    }
    expect(seen).toEqual(['*']);
  });

  suite.law('a repeated header that is not a list is refused; lists are joined', async (harness) => {
    const seen: unknown[] = [];
    const put = route('PUT', '/k', ({ headers }) => {
      seen.push(headers['if-none-match'], headers['x-riak-meta-a']);
      return ok('');
    });
    const { address } = await serve(harness, [put]);
    const singles = [
      'Authorization: Bearer a',
      'Content-Type: text/plain',
      'Host: h',
      'host: other',
      'If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT',
      'If-Unmodified-Since: Thu, 01 Jan 2026 00:00:00 GMT',
      'X-Riak-Vclock: a',
      'x-riak-if-not-modified: a',
    ];
    for (const line of singles) {
      const host = /^host/i.test(line) ? '' : 'Host: h\r\n';
      const twice = `${host}${line}\r\nX-Other: x\r\n${line.toUpperCase()}\r\n${close}`;
      expect([line, statuses(await harness.say(address, ask('PUT /k', twice)))]).toEqual([line, ['400']]);
    }
    expect(seen).toEqual([]);
    const lists = 'If-None-Match: "a"\r\nX-Riak-Meta-A: 1\r\nif-none-match: *\r\nX-Riak-Meta-A: 2\r\n';
    await harness.say(address, ask('PUT /k', `Host: h\r\n${lists}${close}`));
    expect(seen).toEqual(['"a", *', '1, 2']);
  });

  suite.law('a length or a coding that makes the end of the body ambiguous is refused', async (harness) => {
    let calls = 0;
    const put = route('PUT', '/k', () => {
      calls += 1;
      return ok('');
    });
    const { address } = await serve(harness, [put]);
    const cases: readonly (readonly [string, string])[] = [
      ['Content-Length: 2\r\nContent-Length: 3', '400'],
      ['Content-Length: 2\r\nContent-Length: 2', '400'],
      ['Content-Length: 2, 2', '400'],
      ['Content-Length: +2', '400'],
      ['Content-Length: 0x2', '400'],
      ['Transfer-Encoding: chunked\r\nContent-Length: 2', '400'],
      ['Transfer-Encoding: gzip', '501'],
      ['Transfer-Encoding: gzip, chunked', '501'],
      ['Transfer-Encoding: identity', '501'],
    ];
    for (const [lines, status] of cases) {
      const heard = await harness.say(address, `PUT /k HTTP/1.1\r\nHost: h\r\n${lines}\r\n\r\n0\r\n\r\n`);
      expect([lines, statuses(heard)]).toEqual([lines, [status]]);
    }
    expect(calls).toBe(0);
  });

  suite.law(
    'an absolute target’s host overrides the header’s; a malformed one is refused',
    async (harness) => {
      const get = route('GET', '/k', ({ headers }) => ok(`(${headers['host'] ?? 'none'})`));
      const { address } = await serve(harness, [get]);
      const say = (target: string, host: string): Promise<string> =>
        harness.say(address, ask(`GET ${target}`, `Host: ${host}\r\n${close}`));
      expect(await say('http://there:81/k', 'here')).toContain('(there:81)');
      expect(await say('/k', 'here')).toContain('(here)');
      for (const target of ['http://user@there/k', 'http://a,b/k']) {
        expect([target, statuses(await say(target, 'here'))]).toEqual([target, ['400']]);
      }
      for (const host of ['a, b', 'user@there', 'a b', 'a/b']) {
        expect([host, statuses(await say('/k', host))]).toEqual([host, ['400']]);
      }
    },
  );
}

function lastAnswerLaws(suite: LawRegister<HttpHarness>): void {
  suite.law(
    'after an answer that closes the connection no request is handled or answered',
    async (harness) => {
      let puts = 0;
      const routes = [
        route('GET', '/k', () => ok('')),
        route('PUT', '/k', () => {
          puts += 1;
          return ok('');
        }),
      ];
      const { address } = await serve(harness, routes);
      const put = ask('PUT /k', 'Host: h\r\n', 'ab');
      const closing: readonly (readonly [string, string])[] = [
        [ask('GET /k', ''), '400'],
        [ask('GET /k', 'Host: h\r\nHost: h\r\n'), '400'],
        [ask('GET /k', `Host: h\r\n${fillers(300)}`), '431'],
        [ask('GET /k', `Host: h\r\n${close}`), '200'],
        [ask('GET /k', 'Host: h\r\nExpect: 100-continue\r\nHost: h\r\n'), '400'],
      ];
      for (const [first, status] of closing) {
        for (let behind = 1; behind <= 4; behind++) {
          const heard = await harness.say(address, first + put.repeat(behind));
          expect([first, statuses(heard)]).toEqual([first, [status]]);
        }
      }
      expect(puts).toBe(0);
      const heard = await harness.say(address, put + ask('GET /k', '') + put.repeat(3));
      expect([statuses(heard), puts]).toEqual([['200', '400'], 1]);
    },
  );

  suite.law(
    'input that is not HTTP is refused after the answers to the preceding requests',
    async (harness) => {
      const routes = [
        route('GET', '/soon', () => ok('(soon)')),
        route('GET', '/late', async () => {
          await sleep(harness.clock, 20_000);
          return ok('(late)');
        }),
        route('PUT', '/k', () => ok('(put)')),
      ];
      const { address } = await serve(harness, routes);
      const head = 'Host: h\r\n';
      const soon = ask('GET /soon', head);
      const late = ask('GET /late', head);
      const broken = `PUT /k HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`;
      for (const noHttp of ['what is this\r\n\r\n', broken]) {
        for (const before of [[soon], [late], [soon, soon], [late, soon], [soon, late, late]]) {
          const heard = await harness.say(address, before.join('') + noHttp);
          expect(statuses(heard)).toEqual([...before.map(() => '200'), '400']);
          expect(heard.match(/\((soon|late|put)\)/g)).toEqual(
            before.map((one) => (one === soon ? '(soon)' : '(late)')),
          );
        }
      }
    },
  );
}

function placeLaws(suite: LawRegister<HttpHarness>): void {
  const fill = async (harness: HttpHarness, { address }: HttpListener, begun: string): Promise<void> => {
    for (let place = 0; place < 3; place++) harness.say(address, begun).catch(() => '');
    await sleep(harness.clock, 100_000);
  };

  suite.law('slow and idle clients lose their connections to new clients', async (harness) => {
    const get = route('GET', '/k', () => ok('here'));
    const begun = [
      'GET /k HT',
      'PUT /k HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc',
      ask('GET /k', 'Host: h\r\n'),
    ];
    for (const slow of begun) {
      const counted: string[] = [];
      const service = { ...serviceOf([get], counted), connectionCountMax: 3 };
      const listener = await harness.http.serve(harness.listenAddress, service);
      await fill(harness, listener, slow);
      for (let round = 1; round <= 5; round++) {
        const reply = await harness.exchange(listener.address, { method: 'GET', target: '/k' });
        expect(reply.body.toString()).toBe('here');
      }
      expect(counted).toContain('closedHere');
      await listener.close(0);
    }
  });

  suite.law('clients that are being answered keep their connections', async (harness) => {
    const counted: string[] = [];
    const begun = [new Deferred<void>(), new Deferred<void>(), new Deferred<void>()];
    const gate = new Deferred<void>();
    let calls = 0;
    const late = route('GET', '/late', async () => {
      begun[calls++]?.resolve();
      await gate.promise;
      return ok('late');
    });
    const service = { ...serviceOf([late], counted), connectionCountMax: 3 };
    const listener = await harness.http.serve(harness.listenAddress, service);
    const call = { method: 'GET', target: '/late' };
    const answers = [1, 2, 3].map(() => harness.exchange(listener.address, call));
    await Promise.all(begun.map(({ promise }) => promise));
    await expect(harness.exchange(listener.address, call)).rejects.toThrow();
    gate.resolve();
    for (const answer of answers) expect((await answer).body.toString()).toBe('late');
    expect(counted.filter((event) => event === 'opened').length).toBe(3);
  });
}
