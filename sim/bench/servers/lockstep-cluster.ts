/** Starts a cluster of three real processes of this build, for benchmarks that load it over sockets. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The port of a node's listener: each further node's ports are 10 higher; the binary protocol's is 11 below HTTP's. */
export function clusterPort(basePort: number, node: number, offset: number): number {
  return basePort + node * 10 - offset;
}

/**
 * Starts three nodes of this build from `basePort` on; resolves once all answer. `variables`: environment variables of
 * the nodes in addition to this process's own.
 */
export async function startCluster(
  directory: string,
  basePort: number,
  variables: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const main = fileURLToPath(new URL('../../../engine/main.js', import.meta.url));
  const args = [
    main,
    'cluster',
    '--nodes',
    '3',
    '--base-port',
    String(basePort),
    '--data',
    directory,
    '--json',
  ];
  const env = { ...process.env, ...variables };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  for (let attempt = 0; attempt < 150; attempt++) {
    const up = await Promise.all([0, 1, 2].map((index) => answers(clusterPort(basePort, index, 0))));
    if (up.every(Boolean)) return child;
    await sleep(100);
  }
  await stopChild(child);
  throw new Error('the cluster did not start within 15 s');
}

/** Whether an HTTP listener of this machine answers 200. */
export function answers(port: number, path = '/ping'): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ host: '127.0.0.1', port, path }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('error', () => resolve(false));
  });
}

/** Asks a process to stop and waits for its end; returns at once if it has ended already. */
export function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
