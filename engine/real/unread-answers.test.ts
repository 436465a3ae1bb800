import fc from 'fast-check';
import { expect, test } from 'vitest';

import { ConnectionRecorder } from '../io/connection-recorder.fixture.ts';
import { ok, route, serviceOf } from '../io/http-serving.contract.ts';
import type { Connection } from '../io/network.ts';
import { logInto, open } from './http-harness.fixture.ts';
import { createRealHttp } from './http.ts';
import { RealNetwork } from './network.ts';
import type { AnswerHolder } from './unread-answers.ts';
import { UnreadAnswers } from './unread-answers.ts';

const megabyte = 1024 ** 2;

class Holder implements AnswerHolder {
  readonly remote = 'client:1';
  unreadBytes = 0;
  isCut = false;

  cut(): void {
    this.isCut = true;
    this.unreadBytes = 0;
  }
}

test('above the common bound the clients with the most unread bytes are cut', () => {
  const logged: string[] = [];
  const unread = new UnreadAnswers(100, logInto(logged));
  const [small, large, last] = [new Holder(), new Holder(), new Holder()];
  const write = (holder: Holder, bytes: number): void => {
    holder.unreadBytes += bytes;
    unread.written(holder);
  };
  write(small, 30);
  write(large, 60);
  write(small, 10);
  expect([unread.bytes, logged]).toEqual([100, []]);
  write(last, 1);
  expect([small.isCut, large.isCut, last.isCut, unread.bytes]).toEqual([false, true, false, 41]);
  expect(logged).toEqual(['client.answers.cut']);
  // Bytes taken meanwhile are counted before a connection is cut.
  small.unreadBytes = 5;
  write(last, 90);
  expect([small.isCut, last.isCut, unread.bytes]).toEqual([false, false, 96]);
  unread.forget(small);
  unread.forget(small);
  expect(unread.bytes).toBe(91);
  // A single client is served, whatever it leaves unread.
  write(last, 1000);
  expect([last.isCut, unread.bytes]).toEqual([false, 1091]);
});

test('unread bytes never exceed the bound, except for a single client, and nothing is counted twice', () => {
  const step = fc.record({ who: fc.nat(5), bytes: fc.nat(60), taken: fc.nat(60), gone: fc.boolean() });
  const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const unread = new UnreadAnswers(100, logInto([]));
    const holders = Array.from({ length: 6 }, () => new Holder());
    for (const { who, bytes, taken, gone } of steps) {
      const holder = holders[who];
      if (holder === undefined || holder.isCut) continue;
      holder.unreadBytes += bytes;
      unread.written(holder);
      const held = holders.filter(({ unreadBytes }) => unreadBytes > 0);
      const sum = held.reduce((total, { unreadBytes }) => total + unreadBytes, 0);
      expect(sum <= 100 || held.length === 1).toBe(true);
      holder.unreadBytes = gone ? 0 : Math.max(0, holder.unreadBytes - taken);
      if (holder.unreadBytes === 0) unread.forget(holder);
    }
    for (const holder of holders) unread.forget(holder);
    expect(unread.bytes).toBe(0);
  });
  fc.assert(property);
});

test('clients of the HTTP and the network port share the bound, and clients that read are served', async () => {
  const logged: string[] = [];
  const unread = new UnreadAnswers(40 * megabyte, logInto(logged));
  const http = createRealHttp(logInto([]), undefined, unread);
  const body = Buffer.alloc(30 * megabyte, 1);
  const listener = await http.serve('127.0.0.1:0', serviceOf([route('GET', '/', () => ok(body))], []));
  const ask = async () => {
    const socket = await open(listener.address);
    socket.pause().write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    return socket;
  };
  const silent = await ask();
  await eventually(() => unread.bytes > 20 * megabyte);
  const { client, server } = await pair(new RealNetwork(undefined, unread));
  const atServer = ConnectionRecorder.start(server);
  server.setPatience(60_000_000);
  client.pause();
  ConnectionRecorder.start(client);
  server.write(Buffer.alloc(80 * megabyte));
  await eventually(() => atServer.closed !== undefined);
  expect([atServer.closed, logged]).toEqual(['timedOut', ['client.answers.cut']]);
  let bytes = 0;
  silent.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
  await eventually(() => bytes > 30 * megabyte && unread.bytes === 0);
  const [first, second] = [await ask(), await ask()];
  await eventually(() => logged.length === 2);
  for (const socket of [silent, first, second]) socket.destroy();
  await eventually(() => unread.bytes === 0);
  await listener.close(0);
});

async function pair(network: RealNetwork): Promise<{ client: Connection; server: Connection }> {
  const accepted: Connection[] = [];
  const listener = await network.listen('127.0.0.1:0', (connection) => accepted.push(connection));
  const client = await network.connect(listener.address, 1_000_000);
  await eventually(() => accepted.length === 1);
  await listener.close();
  const [server] = accepted;
  if (server === undefined) throw new Error('nobody came');
  return { client, server };
}

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}
