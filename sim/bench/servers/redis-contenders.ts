/**
 * Servers for comparison with the Redis protocol: redis-server that syncs every write before its answer, and a proxy
 * before it (Dynomite's architecture: its nodes are proxies before redis; this proxy only copies bytes, so it costs
 * less).
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { nodeFlags } from '../../../engine/cli/start/runtime-flags.ts';
import { parseConfig } from '../../../engine/config/config.ts';
import { stringify } from 'yaml';
import { mkdirSync, writeFileSync } from 'node:fs';

/** A running server with its processes. */
export interface Contender {
  readonly name: string;
  readonly port: number;
  readonly children: readonly ChildProcess[];
}

/** Starts a redis-server that syncs every write, or once a second. */
export async function redisServer(
  directory: string,
  port: number,
  fsync: 'always' | 'everysec' = 'always',
): Promise<Contender> {
  mkdirSync(directory, { recursive: true });
  const words = ['--port', String(port), '--dir', directory, '--save', ''];
  const synced = ['--appendonly', 'yes', '--appendfsync', fsync, '--bind', '127.0.0.1'];
  const child = spawn('redis-server', [...words, ...synced], { stdio: 'ignore' });
  await untilOpen(port);
  return { name: `redis-server, appendfsync ${fsync}`, port, children: [child] };
}

/** Starts a process that copies the bytes of each connection to one of its own to `target`. */
export async function proxyBefore(target: number, port: number): Promise<Contender> {
  const text = [
    "const net = require('node:net');",
    'net.createServer({ noDelay: true }, (client) => {',
    `  const server = net.connect({ port: ${target}, host: '127.0.0.1', noDelay: true });`,
    '  client.pipe(server).pipe(client);',
    "  client.on('error', () => server.destroy()); server.on('error', () => client.destroy());",
    `}).listen(${port}, '127.0.0.1');`,
  ].join('\n');
  const child = spawn(process.execPath, ['-e', text], { stdio: 'ignore' });
  await untilOpen(port);
  return { name: 'a proxy before that redis-server', port, children: [child] };
}

/** One node of this build. */
export async function ownNode(directory: string, port: number): Promise<Contender> {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'lockstep.yaml');
  const keys = {
    ...{
      name: 'n1',
      data_dir: 'data',
      listen: 'off',
      pb_listen: 'off',
      stats_listen: 'off',
      log_level: 'warn',
    },
    ...{ peer_listen: `127.0.0.1:${port + 1}`, redis_listen: `127.0.0.1:${port}` },
  };
  const text = stringify({ lockstep: keys });
  parseConfig(text, {}, file);
  writeFileSync(file, text);
  const main = fileURLToPath(new URL('../../../engine/main.js', import.meta.url));
  const child = spawn(process.execPath, [...nodeFlags, main, 'start', '--config', file], { stdio: 'ignore' });
  await untilOpen(port);
  return { name: 'lockstep, one node', port, children: [child] };
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
