/**
 * Starts, watches and stops the processes of a local cluster. A node that dies is reported and not restarted; the user
 * starts it again with the command that `cluster-notices.ts` prints.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

import { splitAddress } from '../../config/addresses.ts';
import type { ClusterNode } from './cluster-shape.ts';
import { listenersOf } from './cluster-shape.ts';

/** The process of one node that the cluster command started. */
export interface NodeProcess {
  readonly node: ClusterNode;
  readonly child: ChildProcess;
  /** Resolves once the process has ended, with how it ended: `exit code 1`, `SIGKILL`. */
  readonly gone: Promise<string>;
}

/**
 * How long a node may take to serve, in milliseconds. It is generous for busy machines: a process that ends while it
 * starts is noticed at once anyway.
 */
export const startTimeoutMs = 120_000;
const pollIntervalMs = 50;

/** The ports of these nodes that other processes use, each as `8098 (HTTP of n1)`. */
export async function takenPorts(nodes: readonly ClusterNode[]): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const node of nodes) {
    for (const { what, address } of listenersOf(node)) {
      const port = splitAddress(address)?.port ?? 0;
      if (!(await isFree(port))) taken.push(`${port} (${what} of ${node.name})`);
    }
  }
  return taken;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/**
 * Starts one node: this Node.js with `startArguments`. The node has a process group of its own, so that Ctrl-C reaches
 * the cluster command alone. It has an IPC channel to the command; when that channel closes, the node learns that the
 * command has ended. `onLine` gets each line that the node logs.
 */
export function startNode(
  node: ClusterNode,
  startArguments: readonly string[],
  onLine: (line: string) => void,
): NodeProcess {
  const child = spawn(process.execPath, startArguments, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  if (child.stderr !== null) createInterface({ input: child.stderr }).on('line', onLine);
  const gone = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code ?? 'unknown'}`));
  });
  return { node, child, gone };
}

/**
 * Resolves once the node answers `/ping` and counts all its peers as up. Rejects if its process ends first, after
 * `startTimeoutMs`, or when `stop` is aborted.
 */
export async function waitUntilServing({ node, child, gone }: NodeProcess, stop: AbortSignal): Promise<void> {
  const endMs = Date.now() + startTimeoutMs;
  while (!((await answersPing(node)) && (await seesAllPeers(node)))) {
    stop.throwIfAborted();
    if (hasEnded(child))
      throw new Error(`${node.name} did not start (${await gone}); what it said stands above`);
    if (Date.now() > endMs) throw new Error(`${node.name} does not serve after ${startTimeoutMs / 1000} s`);
    await sleep(pollIntervalMs);
  }
}

/** Whether the process exited, was killed, or could not be started. */
export function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined;
}

async function answersPing(node: ClusterNode): Promise<boolean> {
  return (await answerOf(`http://${node.http}/ping`)) !== undefined;
}

async function seesAllPeers(node: ClusterNode): Promise<boolean> {
  const metrics = await answerOf(`http://${node.stats}/metrics`);
  return metrics !== undefined && !/^svc_peer_state\{.*state="down".*\} 1$/m.test(metrics);
}

/** The text of a 2xx answer; undefined if the connection fails, the answer takes over a second, or is not 2xx. */
async function answerOf(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    const text = await response.text();
    return response.ok ? text : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Asks every process to stop (SIGTERM), and kills those that still run after `timeoutMs`. Resolves with their names.
 */
export async function stopNodes(
  processes: readonly NodeProcess[],
  timeoutMs: number,
): Promise<readonly string[]> {
  const killed: string[] = [];
  await Promise.all(
    processes.map(async ({ node, child, gone }) => {
      child.kill('SIGTERM');
      const late = setTimeout(() => {
        killed.push(node.name);
        child.kill('SIGKILL');
      }, timeoutMs);
      await gone;
      clearTimeout(late);
    }),
  );
  return killed;
}
