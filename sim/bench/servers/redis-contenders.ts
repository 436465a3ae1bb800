/**
 * Servers for comparison with the Redis protocol: redis-server that syncs every write before its answer, and a proxy
 * before it (Dynomite's architecture: its nodes are proxies before redis; this proxy only copies bytes, so it costs
 * less).
 */
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import type { BenchProcess } from '../bench-process.ts';

/** A running server with its processes. */
export interface Contender {
  readonly name: string;
  /** The ports of 127.0.0.1 over which clients spread their connections. */
  readonly ports: readonly number[];
  /** The processes that serve it. */
  readonly pids: readonly number[];
}

/** Whether a program of Redis can be run: `redis-server`, `redis-benchmark`. */
export function isInstalled(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** Starts a redis-server that syncs every write, or once a second. */
export async function redisServer(
  owner: BenchProcess,
  directory: string,
  port: number,
  fsync: 'always' | 'everysec' = 'always',
): Promise<Contender> {
  mkdirSync(directory, { recursive: true });
  const words = ['--port', String(port), '--dir', directory, '--save', ''];
  const synced = ['--appendonly', 'yes', '--appendfsync', fsync, '--bind', '127.0.0.1'];
  const child = spawn('redis-server', [...words, ...synced], { stdio: 'ignore' });
  owner.add(child, 'SIGTERM');
  await untilOpen(port);
  return { name: `redis-server, appendfsync ${fsync}`, ports: [port], pids: pidsOf(child) };
}

/** Starts a process that copies the bytes of each connection to one of its own to `target`. */
export async function proxyBefore(owner: BenchProcess, target: number, port: number): Promise<Contender> {
  const text = [
    "const net = require('node:net');",
    'net.createServer({ noDelay: true }, (client) => {',
    `  const server = net.connect({ port: ${target}, host: '127.0.0.1', noDelay: true });`,
    '  client.pipe(server).pipe(client);',
    "  client.on('error', () => server.destroy()); server.on('error', () => client.destroy());",
    `}).listen(${port}, '127.0.0.1');`,
  ].join('\n');
  const child = spawn(process.execPath, ['-e', text], { stdio: 'ignore' });
  owner.add(child, 'SIGTERM');
  await untilOpen(port);
  return { name: 'a proxy before that redis-server', ports: [port], pids: pidsOf(child) };
}

function pidsOf({ pid }: ChildProcess): readonly number[] {
  return pid === undefined ? [] : [pid];
}

/** Resolves once the port accepts connections; rejects after 20 seconds. */
export async function untilOpen(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (await canConnect(port)) return;
    await sleep(100);
  }
  throw new Error(`nobody listens on 127.0.0.1:${port} after 20 s`);
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
