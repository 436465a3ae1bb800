/**
 * Nodes of the built command on this machine for a benchmark, three by default: real processes with real files in a
 * directory.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { builtFile } from '../../processes/built-file.ts';
import type { Endpoint } from '../load/closed-loop.ts';
import { processorSecondsOf } from '../processor-time.ts';

/** Distances of the other listeners' ports from the HTTP port, as `lockstep cluster` assigns them. */
const pbBelowHttp = 11;
const redisAboveHttp = 1;
const statsAboveHttp = 14_124;
/** Distance of each further node's ports. */
const nextNode = 10;

/** `racks`: number of racks, and so of copies of every key. */
export interface ClusterForm {
  readonly nodes: number;
  readonly racks: number;
}

/** What a cluster need not have by default. */
export interface ClusterSettings {
  /** Three nodes in three racks by default. */
  readonly form?: ClusterForm | undefined;
  /** Environment variables of the nodes in addition to this process's own. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
  /** The `dist` directory of the build that runs; this build by default. */
  readonly dist?: string | undefined;
  /** Receives the process as soon as it exists; without it, `stop` ends the cluster. */
  readonly began?: (child: ChildProcess) => void;
}

/** A running cluster. */
export class LocalCluster {
  readonly #child: ChildProcess;
  readonly #basePort: number;
  readonly #pids: readonly number[];

  private constructor(child: ChildProcess, basePort: number, pids: readonly number[]) {
    this.#child = child;
    this.#basePort = basePort;
    this.#pids = pids;
  }

  /** Resolves once all nodes serve. Node `i` listens for HTTP at `basePort + 10 * i`. */
  static async start(
    directory: string,
    basePort: number,
    { form = { nodes: 3, racks: 3 }, variables, dist, began }: ClusterSettings = {},
  ): Promise<LocalCluster> {
    const main = dist === undefined ? builtFile('engine/main.js') : join(dist, 'engine', 'main.js');
    const size = ['--nodes', String(form.nodes), '--racks', String(form.racks)];
    const where = ['--base-port', String(basePort), '--data', directory];
    const child = spawn(process.execPath, [main, 'cluster', ...size, ...where, '--json'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...variables },
    });
    began?.(child);
    const shape = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith('{"data"')) resolve(line);
      });
      child.once('exit', () => reject(new Error('the cluster ended before it served')));
    });
    const { nodes } = JSON.parse(shape) as { nodes: readonly { pid: number }[] };
    return new LocalCluster(
      child,
      basePort,
      nodes.map(({ pid }) => pid),
    );
  }

  /** Seconds of processor time that all nodes have used so far; NaN where the system does not report it. */
  processorSeconds(): number {
    return processorSecondsOf(this.#pids);
  }

  /** The nodes' processes. */
  get pids(): readonly number[] {
    return this.#pids;
  }

  /** Addresses of the nodes' binary protocol. */
  get endpoints(): readonly Endpoint[] {
    return this.#pids.map((_, node) => ({ host: '127.0.0.1', port: this.pbPort(node) }));
  }

  /** Addresses of the nodes' HTTP listeners. */
  get httpEndpoints(): readonly Endpoint[] {
    return this.#pids.map((_, node) => ({ host: '127.0.0.1', port: this.httpPort(node) }));
  }

  httpPort(node: number): number {
    return this.#basePort + node * nextNode;
  }

  pbPort(node: number): number {
    return this.httpPort(node) - pbBelowHttp;
  }

  redisPort(node: number): number {
    return this.httpPort(node) + redisAboveHttp;
  }

  statsPort(node: number): number {
    return this.httpPort(node) + statsAboveHttp;
  }

  /** Stops all nodes gracefully; returns at once if the cluster has ended already. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.kill('SIGINT');
    await gone;
  }
}
