/** The harness of the HTTP laws over the machine's implementation, with or without TLS. */
import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { request as secureRequest } from 'node:https';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as secureConnect } from 'node:tls';
import { Deferred } from '../base/deferred.ts';
import type { HttpCall, HttpHarness, HttpReply } from '../io/http-serving.contract.ts';
import type { Log } from '../io/log.ts';
import type { Address } from '../io/network.ts';
import { hostPortOf } from './address.ts';
import { createRealHttp } from './http.ts';
import { machineHarness } from './machine.fixture.ts';
import type { TlsIdentity } from './tls.ts';

/** With `tls` the listener shows that certificate, and clients trust the CA in `ca`. */
export async function machineHttpHarness(tls?: TlsIdentity, ca?: string): Promise<HttpHarness> {
  const releases: (() => unknown)[] = [];
  const http = createRealHttp(logInto([]), tls);
  return {
    ...machineHarness(releases),
    http: {
      serve: async (address, service) => {
        const listener = await http.serve(address, service);
        let closing: Promise<void> | undefined;
        const close = (drainMs: number): Promise<void> => (closing ??= listener.close(drainMs));
        releases.push(() => close(0));
        return { address: listener.address, close };
      },
    },
    listenAddress: '127.0.0.1:0',
    exchange: (address, call) => exchange(address, call, ca),
    abandon: async (address, call) => {
      const socket = await askOnly(address, call, ca);
      await realSleep(60);
      socket.destroy();
    },
    ignore: async (address, call) => {
      const socket = await askOnly(address, call, ca);
      releases.push(() => socket.destroy());
    },
    say: (address, text) => say(address, text, ca),
  };
}

/** Sends `text` in one piece; resolves with everything received until the connection closes. */
export async function say(address: Address, text: string, ca?: string): Promise<string> {
  const socket = await open(address, ca);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}

/** Sends a request and reads nothing. */
async function askOnly(address: Address, { method, target }: HttpCall, ca?: string): Promise<Socket> {
  const socket = await open(address, ca);
  socket.pause();
  socket.write(`${method} ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return socket;
}

/** A log that appends the names of its events to `names`. */
export function logInto(names: string[]): Log {
  return { enabled: () => true, event: (_level, name) => void names.push(name) };
}

/** One request of a client on a connection of its own. Rejects if no whole answer comes. */
export async function exchange(address: Address, call: HttpCall, ca?: string): Promise<HttpReply> {
  const { host, port } = hostPortOf(address);
  const outcome = new Deferred<HttpReply>();
  const asked = (ca === undefined ? plainRequest : secureRequest)({
    ...(ca === undefined ? {} : { ca }),
    host,
    port,
    method: call.method,
    path: call.target,
    agent: false,
    maxHeaderSize: 1 << 20,
  });
  for (const [name, value] of call.headers ?? []) asked.appendHeader(name, value);
  asked.on('error', (error) => outcome.reject(error));
  asked.on('response', (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('error', (error) => outcome.reject(error));
    answer.on('end', () =>
      outcome.resolve({
        status: answer.statusCode ?? 0,
        headers: flat(answer.headers),
        body: Buffer.concat(chunks),
      }),
    );
  });
  asked.end(call.body);
  return outcome.promise;
}

function flat(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value?.toString()]));
}

/** Opens a connection, over TLS if `ca` is given. */
export async function open(address: Address, ca?: string): Promise<Socket> {
  const target = hostPortOf(address);
  const socket = ca === undefined ? connect(target) : secureConnect({ ...target, ca });
  socket.on('error', () => undefined);
  await once(socket, ca === undefined ? 'connect' : 'secureConnect');
  return socket;
}

async function realSleep(ms: number): Promise<void> {
  const slept = new Deferred<void>();
  setTimeout(() => slept.resolve(), ms);
  return slept.promise;
}
