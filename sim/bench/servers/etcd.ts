/**
 * An etcd of a few members for comparison, where it is installed: started on loopback with its own data directory, loaded through
 * its own protocol (gRPC unary calls over HTTP/2, one in flight per connection).
 */
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:http2';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import protobuf from 'protobufjs';

import type { Endpoint, ErrorCounts, LoopResult } from '../load/closed-loop.ts';
import { countError } from '../load/closed-loop.ts';
import type { KeySpace } from '../load/conversations.ts';

/** A running etcd. */
export interface EtcdCluster {
  readonly endpoints: readonly Endpoint[];
  /** The processes of the members. */
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/** The version line of the installed etcd; undefined if there is none. */
export function etcdVersion(): string | undefined {
  const found = spawnSync('etcd', ['--version'], { encoding: 'utf8' });
  return found.status === 0 ? found.stdout.split('\n')[0] : undefined;
}

/** Starts the members and waits until they answer. Each takes two ports, from `basePort` on. */
export async function startEtcd(directory: string, basePort: number, members = 3): Promise<EtcdCluster> {
  const names = Array.from({ length: members }, (_, index) => `e${index + 1}`);
  const peers = names.map((name, index) => `${name}=http://127.0.0.1:${basePort + 2 * index + 1}`).join(',');
  const children = names.map((name, index) => startMember(name, directory, basePort + 2 * index, peers));
  const endpoints = names.map((_, index) => ({ host: '127.0.0.1', port: basePort + 2 * index }));
  for (const endpoint of endpoints) await untilOpen(endpoint);
  await sleep(3000);
  return {
    endpoints,
    pids: children.flatMap(({ pid }) => (pid === undefined ? [] : [pid])),
    stop: async () => {
      await Promise.all(children.map(stopChild));
    },
  };
}

/** Puts every key of the space once. */
export async function etcdFill(cluster: EtcdCluster, space: KeySpace, connections: number): Promise<void> {
  const { host, port } = cluster.endpoints[0] ?? { host: '', port: 0 };
  const session = connect(`http://${host}:${port}`);
  const loops = Array.from({ length: connections }, async (_, index) => {
    for (let key = index; key < space.keys; key += connections) {
      const status = await unary(session, 'put', message('put', `${space.prefix}${key}`, space.valueBytes));
      if (status !== '0') throw new Error(`etcd answered gRPC status ${status} to a put`);
    }
  });
  await Promise.all(loops);
  session.close();
}

/** Puts or gets with `connections` sessions for `seconds`. */
export async function etcdLoop(
  cluster: EtcdCluster,
  what: 'put' | 'get',
  space: KeySpace,
  connections: number,
  seconds: number,
): Promise<LoopResult> {
  const latenciesUs: number[] = [];
  const errors: ErrorCounts = new Map();
  const startedUs = nowUs();
  const untilUs = startedUs + seconds * 1e6;
  const loops = Array.from({ length: connections }, async (_, index) => {
    const { host, port } = cluster.endpoints[index % cluster.endpoints.length] ?? { host: '', port: 0 };
    const session = connect(`http://${host}:${port}`);
    let counter = index * 7919;
    while (nowUs() < untilUs) {
      counter = (counter + 104729) % space.keys;
      const sentUs = nowUs();
      const status = await unary(session, what, message(what, `${space.prefix}${counter}`, space.valueBytes));
      if (status === '0') latenciesUs.push(nowUs() - sentUs);
      else countError(errors, `gRPC status ${status}`);
    }
    session.close();
  });
  await Promise.all(loops);
  return { operations: latenciesUs.length, errors, seconds: (nowUs() - startedUs) / 1e6, latenciesUs };
}

/** One call: puts or gets a key. Rejects unless the server answers that it succeeded. */
export async function etcdCall(
  session: ClientHttp2Session,
  what: 'put' | 'get',
  key: string,
  valueBytes: number,
): Promise<void> {
  const status = await unary(session, what, message(what, key, valueBytes));
  if (status !== '0') throw new Error(`gRPC status ${status}`);
}

/** etcdserverpb.PutRequest {key 1, value 2} and RangeRequest {key 1}, with gRPC's five-byte prefix. */
function message(what: 'put' | 'get', key: string, valueBytes: number): Buffer {
  const writer = protobuf.Writer.create().uint32(10).bytes(Buffer.from(key));
  if (what === 'put') writer.uint32(18).bytes(Buffer.alloc(valueBytes, 'v'));
  const body = writer.finish();
  const framed = Buffer.alloc(5 + body.length);
  framed.writeUInt32BE(body.length, 1);
  framed.set(body, 5);
  return framed;
}

function unary(session: ClientHttp2Session, what: 'put' | 'get', framed: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': what === 'put' ? '/etcdserverpb.KV/Put' : '/etcdserverpb.KV/Range',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    let status = 'none';
    stream.on('trailers', (headers: IncomingHttpHeaders) => (status = String(headers['grpc-status'])));
    stream.on('data', () => undefined);
    stream.on('end', () => resolve(status));
    stream.on('error', reject);
    stream.end(framed);
  });
}

function startMember(name: string, directory: string, port: number, peers: string): ChildProcess {
  const client = `http://127.0.0.1:${port}`;
  const peer = `http://127.0.0.1:${port + 1}`;
  const flags = [
    ['--name', name],
    ['--data-dir', join(directory, name)],
    ['--listen-client-urls', client],
    ['--advertise-client-urls', client],
    ['--listen-peer-urls', peer],
    ['--initial-advertise-peer-urls', peer],
    ['--initial-cluster', peers],
    ['--initial-cluster-state', 'new'],
    ['--log-level', 'error'],
  ].flat();
  return spawn('etcd', flags, { stdio: 'ignore' });
}

async function untilOpen(endpoint: Endpoint): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if (await canConnect(endpoint)) return;
    await sleep(100);
  }
  throw new Error(`etcd does not listen on ${endpoint.host}:${endpoint.port}`);
}

function canConnect(endpoint: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTcp(endpoint.port, endpoint.host);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

function stopChild(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

function nowUs(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
