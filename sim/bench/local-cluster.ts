/** Three nodes of the built command on this machine, for a benchmark: real processes, real files in a directory. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Binary protocol port below the HTTP port, as `lockstep cluster` gives them. */
const pbBelowHttp = 11;

export class LocalCluster {
  readonly #child: ChildProcess;
  readonly #basePort: number;

  private constructor(child: ChildProcess, basePort: number) {
    this.#child = child;
    this.#basePort = basePort;
  }

  /** Resolves when all nodes serve. */
  static async start(directory: string, basePort: number): Promise<LocalCluster> {
    const main = fileURLToPath(new URL('../../engine/main.js', import.meta.url));
    const args = [main, 'cluster', '--base-port', String(basePort), '--data', directory, '--json'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith('{"data"')) resolve();
      });
      child.once('exit', () => reject(new Error('the cluster ended')));
    });
    return new LocalCluster(child, basePort);
  }

  httpPort(node: number): number {
    return this.#basePort + node * 10;
  }

  pbPort(node: number): number {
    return this.httpPort(node) - pbBelowHttp;
  }

  /** Stops all nodes in order. */
  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.kill('SIGINT');
    await gone;
  }
}
