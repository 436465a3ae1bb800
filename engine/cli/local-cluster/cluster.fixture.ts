/** Runs a cluster of real processes for tests with third-party clients: the built command, in a temporary directory. */
import type { ChildProcess } from 'node:child_process';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { present } from '../../base/assert.ts';

/** The built command. */
export const main = join(import.meta.dirname, '../../../dist/engine/main.js');

/** One node of the cluster, with its addresses as `host:port`. */
export interface TestingNode {
  readonly name: string;
  readonly http: string;
  readonly pb: string;
  readonly redis: string;
  readonly stats: string;
  readonly pid: number;
  /** Its configuration file. */
  readonly config: string;
}

/** A running cluster. The test must call `stop`. */
export class TestingCluster {
  readonly nodes: readonly TestingNode[];
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #variables: Readonly<Record<string, string>>;
  readonly #restarted: ChildProcess[] = [];

  private constructor(
    child: ChildProcess,
    directory: string,
    variables: Readonly<Record<string, string>>,
    nodes: readonly TestingNode[],
  ) {
    this.#child = child;
    this.#directory = directory;
    this.#variables = variables;
    this.nodes = nodes;
  }

  /**
   * Starts three nodes; resolves once they serve. Each test file needs its own ports (see `lockstep cluster --help`).
   */
  static start(basePort: number, ...words: readonly string[]): Promise<TestingCluster> {
    return TestingCluster.startWith({}, basePort, ...words);
  }

  /** Starts as `start`, with environment variables for every node. */
  static async startWith(
    variables: Readonly<Record<string, string>>,
    basePort: number,
    ...words: readonly string[]
  ): Promise<TestingCluster> {
    if (!existsSync(main)) throw new Error('run `npm run build` first');
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-clients-'));
    const child = spawn(
      process.execPath,
      [main, 'cluster', '--base-port', String(basePort), '--json', ...words],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: directory, env: { ...process.env, ...variables } },
    );
    const said: string[] = [];
    const shape = new Promise<string>((resolve, reject) => {
      for (const input of [child.stdout, child.stderr]) {
        createInterface({ input }).on('line', (line) => {
          said.push(line);
          if (line.startsWith('{"data"')) resolve(line);
        });
      }
      child.once('exit', () => reject(new Error(`the cluster ended:\n${said.join('\n')}`)));
    });
    try {
      const { nodes } = JSON.parse(await shape) as { nodes: readonly TestingNode[] };
      return new TestingCluster(child, directory, variables, nodes);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /** Runs the command with these arguments; resolves with its output and exit code. Rejects if a signal ends it. */
  static command(...words: readonly string[]): Promise<{ readonly stdout: string; readonly code: number }> {
    return new Promise((resolve, reject) => {
      execFile(process.execPath, [main, ...words], (error, stdout) => {
        const code = error === null ? 0 : error.code;
        if (typeof code === 'number') resolve({ stdout, code });
        else reject(error ?? new Error('the command ended without an exit code'));
      });
    });
  }

  /** Starts a dead node again; resolves with its process id once it serves. `stop` stops it, too. */
  async restart({ name, config }: TestingNode): Promise<number> {
    const child = spawn(process.execPath, [main, 'start', '--config', config], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: this.#directory,
      env: { ...process.env, ...this.#variables },
    });
    this.#restarted.push(child);
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (line.startsWith(`${name} serves HTTP`)) resolve();
      });
      child.once('exit', () => reject(new Error(`${name} ended`)));
    });
    return present(child.pid, 'the process of a node that serves');
  }

  /** Stops all nodes in order. */
  async stop(): Promise<void> {
    const children = [...this.#restarted, this.#child];
    const gone = children.map((child) => new Promise<void>((resolve) => child.once('exit', () => resolve())));
    for (const child of children) child.kill('SIGINT');
    await Promise.all(gone);
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
