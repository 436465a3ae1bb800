/** The laws of the HTTP port in the world. */
import { describe, expect, it } from 'vitest';
import { present } from '../../../engine/base/assert.ts';
import { sleep } from '../../../engine/io/clock.ts';
import { ConnectionRecorder } from '../../../engine/io/connection-recorder.fixture.ts';
import { httpContract } from '../../../engine/io/http.contract.ts';
import type { HttpHarness } from '../../../engine/io/http-serving.contract.ts';
import { TestingBudget, ok, route, serviceOf } from '../../../engine/io/http-serving.contract.ts';
import { worldHarness } from '../core/world-harness.fixture.ts';
import { World } from '../world.ts';

httpContract('world', makeHarness);

async function makeHarness(seed: number): Promise<HttpHarness> {
  const world = new World({ seed });
  const { http } = world.addHost('server').boot();
  const visitor = world.addHost('visitor');
  const { clock, network } = visitor.boot();
  return {
    // A handler that throws is a bug; one law provokes it.
    ...worldHarness(world, clock, ['http.handler']),
    http,
    listenAddress: 'server:0',
    exchange: (address, { method, target, headers = [], body }) =>
      world.httpClient(visitor).exchange(address, { method, target, headers, body }, 30_000_000),
    abandon: async (address, { method, target }) => {
      const call = { method, target, headers: [], body: undefined };
      await world
        .httpClient(visitor)
        .exchange(address, call, 60_000)
        .catch(() => undefined);
    },
    ignore: async (address, { method, target }) => {
      const connection = await network.connect(address, 1_000_000);
      connection.write(Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`));
    },
    say: async (address, text) => {
      const connection = await network.connect(address, 1_000_000);
      const heard = ConnectionRecorder.start(connection);
      connection.write(Buffer.from(text, 'latin1'));
      while (!heard.ended) await sleep(clock, 10_000);
      connection.destroy();
      return heard.received().toString('latin1');
    },
  };
}

describe('the HTTP edge in the world', () => {
  it('answers 400 to malformed input and closes, 431 to a long head, 408 to a slow request', async () => {
    for (const [bytes, status] of [
      ['what is this\r\n\r\n', '400'],
      ['GET / HTTP/1.1\r\nno colon\r\n\r\n', '400'],
      ['GET / HTTP/1.1\r\n\r\n', '400'],
      ['PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', '400'],
      ['PUT / HTTP/1.1\r\nContent-Length: much\r\n\r\n', '400'],
      [`GET /${'x'.repeat(300_000)}`, '431'],
      ['GET / HT', '408'],
    ] as const) {
      const { world, counted, visitor } = await room();
      const dial = visitor.network.connect('server:80', 1_000_000);
      await world.runUntil(dial, 1_000_000);
      const connection = await dial;
      const heard = ConnectionRecorder.start(connection);
      connection.write(Buffer.from(bytes));
      await world.runUntil(() => heard.ended, 60_000_000);
      expect(heard.received().toString('latin1').split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`);
      connection.destroy();
      await world.run({ untilUs: world.nowUs + 1_000_000 });
      expect(counted).toEqual(['opened', 'error']);
      expect(world.failures).toEqual([]);
    }
  });

  it('counts the received bytes of a body until it is whole, refused or its connection closed', async () => {
    const world = new World({ seed: 5 });
    const { http } = world.addHost('server').boot();
    const visitor = world.addHost('visitor').boot();
    const bodyBudget = new TestingBudget(10_000);
    const service = {
      ...serviceOf([route('PUT', '/k', ({ body }) => ok(`${body.length} bytes`))], []),
      bodyBudget,
    };
    const serving = http.serve('server:80', service);
    await world.runUntil(serving, 1_000_000);
    const begin = async (head: string, body: string) => {
      const dial = visitor.network.connect('server:80', 1_000_000);
      await world.runUntil(dial, 1_000_000);
      const connection = await dial;
      const heard = ConnectionRecorder.start(connection);
      connection.write(Buffer.from(`PUT /k HTTP/1.1\r\nHost: h\r\n${head}\r\n\r\n${body}`));
      await world.run({ untilUs: world.nowUs + 1_000_000 });
      return { connection, answer: () => heard.received().toString('latin1') };
    };
    const first = await begin('Content-Length: 9000', 'x'.repeat(6_000));
    expect(bodyBudget.heldBytes).toBe(6_000);
    const chunk = `${(6_000).toString(16)}\r\n${'y'.repeat(6_000)}\r\n`;
    const chunked = await begin('Transfer-Encoding: chunked', chunk);
    expect(chunked.answer()).toMatch(/^HTTP\/1\.1 503\r/);
    expect(bodyBudget.heldBytes).toBe(6_000);
    first.connection.write(Buffer.from('x'.repeat(3_000)));
    await world.run({ untilUs: world.nowUs + 1_000_000 });
    expect(first.answer()).toMatch(/9000 bytes$/);
    expect(bodyBudget.heldBytes).toBe(0);
    const left = await begin('Content-Length: 9000', 'x'.repeat(5_000));
    expect(bodyBudget.heldBytes).toBe(5_000);
    left.connection.destroy();
    await world.run({ untilUs: world.nowUs + 1_000_000 });
    expect([bodyBudget.heldBytes, bodyBudget.refusedCount]).toEqual([0, 1]);
    expect(world.failures).toEqual([]);
  });

  it('keeps the connection of a client that reads an answer slowly but steadily', async () => {
    const world = new World({ seed: 6 });
    const { http } = world.addHost('server').boot();
    const { clock, network } = world.addHost('visitor').boot();
    const counted: string[] = [];
    const bodyBytes = 4 * 1024 ** 2;
    const routes = [route('GET', '/k', () => ok(Buffer.alloc(bodyBytes, 1)))];
    const service = { ...serviceOf(routes, counted), answerTimeoutMs: 200 };
    await world.runUntil(http.serve('server:80', service), 1_000_000);
    const dial = network.connect('server:80', 1_000_000);
    await world.runUntil(dial, 1_000_000);
    const connection = await dial;
    const heard = ConnectionRecorder.start(connection);
    let pauses = 0;
    heard.onChunk = () => {
      if (heard.bytesReceived < (pauses + 1) * 200_000) return;
      pauses += 1;
      connection.pause();
      clock.after(150_000, () => connection.resume());
    };
    connection.write(Buffer.from('GET /k HTTP/1.1\r\nHost: h\r\n\r\n'));
    await world.runUntil(() => heard.bytesReceived > bodyBytes || heard.closed !== undefined, 60_000_000);
    expect([heard.closed, heard.bytesReceived > bodyBytes, pauses]).toEqual([undefined, true, 20]);
    // In the last of its pauses nothing more is waiting for it.
    await world.run({ untilUs: world.nowUs + 1_000_000 });
    expect(counted).toEqual(['opened']);
  });

  it('is subject to partitions and crashes', async () => {
    const { world } = await room();
    const visitor = world.mustGetHost('visitor');
    const ask = async (): Promise<string> => {
      const request = { method: 'GET', path: '/x' } as const;
      const answer = world.httpClient(visitor).request('server:80', request, 2_000_000);
      await world.runUntil(answer, 10_000_000);
      return answer.then(
        ({ status }) => String(status),
        (error: unknown) => (error instanceof Error ? error.name : ''),
      );
    };
    expect(await ask()).toBe('200');
    const partition = world.network.partition(['server'], ['visitor']);
    expect(await ask()).toBe('ConnectError');
    partition.lift();
    world.after(700, 'crash', () => world.mustGetHost('server').crash('dropAll'));
    expect(await ask()).toMatch(/Error$/);
  });
});

async function room() {
  const world = new World({ seed: 1, tuning: { network: { splitOneIn: 0 } } });
  const counted: string[] = [];
  const [server, visitor] = ['server', 'visitor'].map((name) => world.addHost(name).boot());
  const routes = [route('GET', '/:x', ({ params }) => ok(`it is ${params['x'] ?? ''}`))];
  const serving = present(server, 'server').http.serve('server:80', serviceOf(routes, counted));
  await world.runUntil(serving, 1_000_000);
  return { world, counted, visitor: present(visitor, 'visitor') };
}
