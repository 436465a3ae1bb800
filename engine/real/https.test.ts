/** The HTTP port over TLS: the same laws, and plain text is no request. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { httpContract } from '../io/http.contract.ts';
import { ok, route, serviceOf } from '../io/http-serving.contract.ts';
import { hostPortOf } from './address.ts';
import { logInto, machineHttpHarness, open } from './http-harness.fixture.ts';
import { createRealHttp } from './http.ts';
import { clientsOf, materialOf, tlsSetting } from './tls.fixture.ts';
import { TlsIdentity } from './tls.ts';

const setting = await tlsSetting();
const { pem } = setting.authority;
/** A slow client takes so many bytes at a time. */
const takenBytes = 2 * 1024 * 1024;

httpContract('machine with TLS', () => machineHttpHarness(clientsOf(setting), pem));

it('plain text on a TLS port is counted, closed and never a connection, and the listener goes on', async () => {
  const identity = clientsOf(setting);
  const counted: string[] = [];
  const http = createRealHttp(logInto([]), identity);
  const listener = await http.serve('127.0.0.1:0', serviceOf([route('GET', '/', () => ok('here'))], counted));
  const plain = connect(hostPortOf(listener.address));
  plain.on('error', () => undefined);
  plain.resume();
  plain.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
  await once(plain, 'close');
  expect(identity.failedHandshakes).toBe(1);
  expect(counted).toEqual([]);
  const silent = connect(hostPortOf(listener.address));
  silent.on('error', () => undefined);
  await once(silent, 'connect');
  const { exchange } = await machineHttpHarness(undefined, pem);
  const reply = await exchange(listener.address, { method: 'GET', target: '/' });
  expect(reply.body.toString()).toBe('here');
  // A client that has not begun its handshake does not delay the close.
  await listener.close(60_000);
  silent.destroy();
});

it('a client that takes a large body bit by bit is not cut off', async () => {
  const http = createRealHttp(logInto([]), clientsOf(setting));
  const body = Buffer.alloc(24 * 1024 * 1024, 'x');
  const routes = [route('GET', '/', () => ({ status: 200, headers: {}, body }))];
  const service = { ...serviceOf(routes, []), answerTimeoutMs: 600 };
  const listener = await http.serve('127.0.0.1:0', service);
  const client = await open(listener.address, pem);
  let received = 0;
  client.on('data', ({ length }: Buffer) => {
    const takes = Math.floor((received + length) / takenBytes) - Math.floor(received / takenBytes);
    received += length;
    if (takes === 0) return;
    client.pause();
    setTimeout(() => client.resume(), service.answerTimeoutMs / 3);
  });
  client.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  await once(client, 'close');
  expect(received).toBeGreaterThan(body.length);
  await listener.close(0);
});

it('with a CA, clients must show a certificate signed by it', async () => {
  const identity = new TlsIdentity('clients', materialOf(setting.node, pem));
  const http = createRealHttp(logInto([]), identity);
  const listener = await http.serve('127.0.0.1:0', serviceOf([route('GET', '/', () => ok('here'))], []));
  const { exchange } = await machineHttpHarness(undefined, pem);
  const refused = new Deferred<boolean>();
  exchange(listener.address, { method: 'GET', target: '/' }).then(
    () => refused.resolve(false),
    () => refused.resolve(true),
  );
  expect(await refused.promise).toBe(true);
  expect(identity.failedHandshakes).toBe(1);
  await listener.close(0);
});
