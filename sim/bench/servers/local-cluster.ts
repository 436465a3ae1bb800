/**
 * Nodes of the built command on this machine for a benchmark, three by default: real processes with real files in a
 * directory.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import type { Endpoint } from '../load/closed-loop.ts';
import { processorSeconds } from '../processor-time.ts';

/** Distance of the binary protocol's port below the HTTP port, as `lockstep cluster` assigns them. */
const pbBelowHttp = 11;

/** `racks`: number of racks, and so of copies of every key. */
export interface ClusterForm {
  readonly nodes: number;
  readonly racks: number;
}

const usualForm: ClusterForm = { nodes: 3, racks: 3 };

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

  /** Resolves once all nodes serve. `began` receives each process as soon as it exists. */
  static async start(
    directory: string,
    basePort: number,
    began: (child: ChildProcess) => void = () => undefined,
    { nodes: nodeCount, racks }: ClusterForm = usualForm,
  ): Promise<LocalCluster> {
    const main = fileURLToPath(new URL('../../../engine/main.js', import.meta.url));
    const form = ['--nodes', String(nodeCount), '--racks', String(racks)];
    const where = ['--base-port', String(basePort), '--data', directory];
    const args = [main, 'cluster', ...form, ...where, '--json'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    began(child);
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
    return this.#pids.reduce((sum, pid) => sum + processorSeconds(pid), 0);
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
    return this.#basePort + node * 10;
  }

  pbPort(node: number): number {
    return this.httpPort(node) - pbBelowHttp;
  }

  /** Stops all nodes gracefully. */
  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.kill('SIGINT');
    await gone;
  }
}
