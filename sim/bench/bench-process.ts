/**
 * Owns the processes and directories that a benchmark creates. They end with the benchmark: when its work is done, by
 * an error, by a signal, or with the process that started it. Only SIGKILL of the benchmark itself leaves them behind.
 */
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** A process that has not ended this many milliseconds after it was asked to is killed. */
const patienceMs = 15_000;

interface Started {
  readonly child: ChildProcess;
  readonly signal: NodeJS.Signals;
}

/** The owner of a benchmark's processes and directories. */
export class BenchProcess {
  readonly #children: Started[] = [];
  readonly #directories: string[] = [];
  readonly #closings: (() => Promise<unknown>)[] = [];
  #ending: Promise<void> | undefined;

  /** Runs `work`, then ends everything that it started. */
  static async run(work: (undertaking: BenchProcess) => Promise<void>): Promise<void> {
    const undertaking = new BenchProcess();
    let interruption: Promise<never> | undefined;
    const interrupted = (signal: (typeof signals)[number]): void => {
      interruption ??= undertaking.end().then(() => process.exit(128 + constants.signals[signal]));
    };
    // A shell between npm and this process keeps signals to itself: the shell's end shows that npm was stopped.
    const parent = process.ppid;
    const watch = setInterval(() => process.ppid === parent || interrupted('SIGTERM'), 250);
    const abandoned = (): void => undertaking.#ask();
    for (const signal of signals) process.on(signal, interrupted);
    process.on('exit', abandoned);
    try {
      await work(undertaking);
    } finally {
      // Interrupted work loses its servers: the resulting error is not the reason of the end.
      await (interruption ?? undertaking.end());
      clearInterval(watch);
      for (const signal of signals) process.off(signal, interrupted);
      process.off('exit', abandoned);
    }
  }

  /** A new directory that other users may enter, because servers under comparison may run as users of their own. */
  directory(): string {
    const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
    chmodSync(directory, 0o755);
    this.#directories.push(directory);
    return directory;
  }

  /** Registers a process that ends gracefully at `signal`. */
  add(child: ChildProcess, signal: NodeJS.Signals): void {
    this.#children.push({ child, signal });
    if (this.#ending !== undefined) child.kill(signal);
  }

  /** Registers what must be done before the directories are removed, for example to take away what is mounted there. */
  onEnd(close: () => Promise<unknown>): void {
    this.#closings.push(close);
  }

  /** Ends everything, once, however often it is called. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#ask();
    await Promise.all(this.#children.map(({ child }) => ended(child)));
    await Promise.all(this.#closings.map((close) => close()));
    for (const directory of this.#directories) rmSync(directory, { recursive: true, force: true });
  }

  #ask(): void {
    for (const { child, signal } of this.#children) if (isRunning(child)) child.kill(signal);
  }
}

/** A TCP port of this machine on which no process listens now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** The machine and the version of Node.js, as the tables and records name them. */
export function machineText(): string {
  return `${cpus().length} x ${cpus()[0]?.model ?? 'processor'}, Node.js ${process.version}`;
}

/** Reports the current step on standard error; otherwise a benchmark would be silent for minutes. */
export function progress(words: string): void {
  process.stderr.write(`${words}\n`);
}

function isRunning({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

function ended(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return Promise.resolve();
  return new Promise((resolve) => {
    const kill = setTimeout(() => child.kill('SIGKILL'), patienceMs);
    child.once('exit', () => {
      clearTimeout(kill);
      resolve();
    });
  });
}
