/** Three nodes of the built command on this machine, for a benchmark: real processes, real files in a directory. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Binary protocol port below the HTTP port, as `lockstep cluster` gives them. */
const pbBelowHttp = 11;

export class LocalCluster {
  readonly #child: ChildProcess;
  readonly #basePort: number;
  readonly #pids: readonly number[];

  private constructor(child: ChildProcess, basePort: number, pids: readonly number[]) {
    this.#child = child;
    this.#basePort = basePort;
    this.#pids = pids;
  }

  /** Resolves when all nodes serve. `began` hears of the process as soon as it exists. */
  static async start(
    directory: string,
    basePort: number,
    began: (child: ChildProcess) => void = () => undefined,
  ): Promise<LocalCluster> {
    const main = fileURLToPath(new URL('../../engine/main.js', import.meta.url));
    const args = [main, 'cluster', '--base-port', String(basePort), '--data', directory, '--json'];
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

  /** Seconds of processor time that all nodes have taken so far; NaN where the system does not tell. */
  processorSeconds(): number {
    return this.#pids.reduce((sum, pid) => sum + secondsOf(pid), 0);
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

/** Linux counts in hundredths of a second. */
const ticksPerSecond = 100;

function secondsOf(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return NaN;
  const [, rest = ''] = readFileSync(path, 'latin1').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
