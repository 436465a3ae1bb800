/**
 * The processes of one node on this machine: the built command with a configuration file, one process after another.
 * Only processes that were started here are ever signalled, and all of them end with the process that started them: the
 * channel between the two closes, or `exit` of this one kills them.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

import { builtFile } from './built-file.ts';

const outputCharsMax = 4000;
/** A process that was asked to end and has not done so after this time is killed. */
const patienceMs = 30_000;

/** The end of a process. `asked`: a signal of ours, or a leave, was to end it. */
export interface ProcessEnd {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  readonly asked: boolean;
  /** Whether it had served. */
  readonly served: boolean;
}

/** How the processes of a node are started, and who hears of them. */
export interface NodeProcessOptions {
  readonly name: string;
  readonly configFile: string;
  /** A module of the build that each process loads before the program. */
  readonly preload?: string;
  /** Called for each line that a process prints. */
  readonly onLine?: (line: string) => void;
  readonly onEnd?: (end: ProcessEnd) => void;
}

const running = new Set<ChildProcess>();
let isWatched = false;

/** The processes of one node. */
export class NodeProcess {
  readonly #options: NodeProcessOptions;
  #child: ChildProcess | undefined;
  #isAsked = false;
  #serves = false;
  #gone: Promise<void> = Promise.resolve();
  /** The last output of the node's processes, for a failure. */
  output = '';
  /** The number of processes so far. */
  lives = 0;

  constructor(options: NodeProcessOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether the present process has said that it serves. */
  get serves(): boolean {
    return this.#child !== undefined && this.#serves;
  }

  /** Starts a process; the node must have none. `variables`: for its environment. */
  start(variables: Readonly<Record<string, string>> = {}): void {
    killAtExit();
    const { name, configFile, preload, onLine, onEnd } = this.#options;
    const before = preload === undefined ? [] : ['--import', pathToFileURL(builtFile(preload)).href];
    const child = spawn(
      process.execPath,
      [...before, builtFile('engine/main.js'), 'start', '--config', configFile],
      { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { ...process.env, ...variables } },
    );
    running.add(child);
    this.#isAsked = false;
    this.#serves = false;
    this.#child = child;
    this.lives += 1;
    for (const input of [child.stdout, child.stderr]) {
      if (input === null) continue;
      createInterface({ input }).on('line', (line) => {
        this.output = `${this.output}${line}\n`.slice(-outputCharsMax);
        if (this.#child === child && line.startsWith(`${name} serves`)) this.#serves = true;
        onLine?.(line);
      });
    }
    this.#gone = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        running.delete(child);
        const served = this.#serves;
        if (this.#child === child) this.#child = undefined;
        resolve();
        onEnd?.({ code: code ?? undefined, signal: signal ?? undefined, asked: this.#isAsked, served });
      });
    });
  }

  /** Sends a signal to the present process, if there is one. */
  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL' || signal === 'SIGTERM') this.#isAsked = true;
    this.#child?.kill(signal);
  }

  /** Sends the signal, and resolves once no process of the node is left. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), patienceMs);
    await this.#gone;
    clearTimeout(timer);
  }

  /** Resolves once the last process has ended. */
  gone(): Promise<void> {
    return this.#gone;
  }

  /** The process is expected to end by itself: it leaves the cluster. */
  expectEnd(): void {
    this.#isAsked = true;
  }

  /** Sends a message to the preloaded module of the present process, if there is one. */
  tell(message: object): void {
    if (this.#child?.connected === true) this.#child.send(message, () => undefined);
  }
}

/** Runs a command of the built program; resolves with its exit code and output. */
export function runCommand(
  args: readonly string[],
  budgetMs: number,
): Promise<{ readonly code: number; readonly output: string }> {
  killAtExit();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [builtFile('engine/main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output += bytes.toString()));
    const timer = setTimeout(() => child.kill('SIGKILL'), budgetMs);
    child.once('exit', (code) => {
      running.delete(child);
      clearTimeout(timer);
      resolve({ code: code ?? 1, output: output.slice(-2000) });
    });
  });
}

function killAtExit(): void {
  if (isWatched) return;
  isWatched = true;
  process.on('exit', () => {
    for (const child of running) child.kill('SIGKILL');
  });
}
