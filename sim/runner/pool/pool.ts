/**
 * Runs tasks on worker threads. Each thread runs whole simulations, one at a time, and shares nothing with the others,
 * so the result of a run does not depend on its thread. This file uses real time; no run does.
 */
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';

import { LockstepError } from '../../../engine/base/errors.ts';
import { isOutOfMemory, outOfMemoryResult } from '../out-of-memory.ts';
import { SimulatorFault } from '../simulator-fault.ts';
import type { Task, TaskAnswer } from '../task.ts';
import { describePoint } from '../../explore/crash-points.ts';
import { describeSubjectPoint } from '../../explore/durable-steps.ts';
import { workerFileOf } from './build.ts';
import { compilerFlags } from './compiler-flags.ts';
import type { WorkerFailure, WorkerReply, WorkerSetup } from './worker.ts';

/**
 * Size of the young generation in each thread, in megabytes. A run creates 50 KB of garbage per operation that dies
 * within its event: in a larger young generation, less of it survives each collection. Beyond twice Node.js's default
 * of 48 MB there is no further gain.
 */
const youngMbMax = 96;

/** A pool of worker threads over one build. */
export class Pool {
  readonly #start: () => Worker;
  readonly #workersMax: number;
  /** All that were started. A worker starts when a task finds no idle one, so few tasks start few threads. */
  readonly #workers = new Set<Worker>();
  readonly #idle: Worker[] = [];
  /** Those that have performed a task. */
  readonly #used = new WeakSet<Worker>();
  /** Tasks that wait for a worker, in the order of their coming. */
  readonly #waiting: ((worker: Worker) => void)[] = [];

  /**
   * `build`: the directory of the built engine to run (a mutant's copy is a different one). `ownFile`: the module with
   * the user's scenarios and invariants, which each thread loads. `workersMax`: most threads at once.
   */
  constructor(build: string, workersMax: number, ownFile?: string) {
    const workerFile = workerFileOf(build, ownFile);
    for (const flag of compilerFlags) setFlagsFromString(flag);
    this.#workersMax = workersMax;
    this.#start = () =>
      new Worker(workerFile, {
        resourceLimits: { maxYoungGenerationSizeMb: youngMbMax },
        workerData: { ownFile } satisfies WorkerSetup,
      });
  }

  /** Number of threads that were started. */
  get workerCount(): number {
    return this.#workers.size;
  }

  /** Most tasks that run at once. */
  get workersMax(): number {
    return this.#workersMax;
  }

  /**
   * Runs the tasks of `tasks`, at most `workersMax` at once; calls `onAnswer` for each in the order of completion. If a
   * worker fails, takes no further task and rejects.
   */
  async performAll<T extends Task>(
    tasks: Iterator<T>,
    onAnswer: (task: T, answer: TaskAnswer) => void,
  ): Promise<void> {
    const drain = async (): Promise<void> => {
      for (let next = tasks.next(); next.done !== true; next = tasks.next()) {
        onAnswer(next.value, await this.perform(next.value));
      }
    };
    await Promise.all(Array.from({ length: this.#workersMax }, drain));
  }

  /**
   * Runs one task as soon as a worker is free. Rejects with what the run throws. A seed or a plan whose thread runs out of
   * memory is a failed run.
   */
  async perform(task: Task): Promise<TaskAnswer> {
    const worker = await this.#freeWorker();
    let answer: TaskAnswer | undefined;
    try {
      answer = await this.#answerOf(worker, task);
    } finally {
      this.#release(worker);
    }
    return answer ?? this.perform(task);
  }

  /** Undefined if the worker ran out of memory, and what earlier tasks left in it may be the cause. */
  async #answerOf(worker: Worker, task: Task): Promise<TaskAnswer | undefined> {
    const isNew = !this.#used.has(worker);
    this.#used.add(worker);
    const startMs = performance.now();
    try {
      return await answerTo(worker, task);
    } catch (error) {
      const run = runOf(task);
      const cause = error instanceof SimulatorFault ? error.cause : undefined;
      if (run === undefined || !isOutOfMemory(cause)) throw error;
      if (!isNew) return undefined;
      return { kind: 'ran', result: outOfMemoryResult(run, cause, performance.now() - startMs), reached: [] };
    }
  }

  #freeWorker(): Worker | Promise<Worker> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#workers.size >= this.#workersMax) {
      return new Promise((resolve) => void this.#waiting.push(resolve));
    }
    return this.#startOne();
  }

  #startOne(): Worker {
    const worker = this.#start();
    this.#workers.add(worker);
    // A worker that died takes no further task.
    worker.once('error', () => this.#workers.delete(worker));
    return worker;
  }

  #release(worker: Worker): void {
    const next = this.#waiting.shift();
    const alive = this.#workers.has(worker);
    if (next !== undefined) next(alive ? worker : this.#startOne());
    else if (alive) this.#idle.push(worker);
  }

  /** Ends all threads. */
  async close(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.terminate()));
  }
}

async function answerTo(worker: Worker, task: Task): Promise<TaskAnswer> {
  worker.postMessage(task);
  let reply: WorkerReply;
  try {
    // A worker that dies emits `error`, which makes `once` reject.
    [reply] = (await once(worker, 'message')) as [WorkerReply];
  } catch (error) {
    throw new SimulatorFault(describeTask(task), error);
  }
  if (!reply.ok) throw errorOf(reply.failure, task);
  return reply.answer;
}

/** Recreates the error that the worker threw. */
function errorOf({ code, message, stack }: WorkerFailure, task: Task): Error {
  if (code !== undefined) return new LockstepError(code, message);
  const cause = new Error(message);
  cause.stack = stack;
  return new SimulatorFault(describeTask(task), cause);
}

function describeTask(task: Task): string {
  if (task.kind === 'crashPoints') return task.points.map(describePoint).join(' and ');
  if (task.kind === 'durableStep') return `${task.at.subject} ${describeSubjectPoint(task.at)}`;
  const { scenario, seed } = task.kind === 'seed' ? task : task.plan;
  return `${scenario}, seed ${seed}`;
}

/** The run that the task judges; undefined for other tasks. */
function runOf(task: Task): { readonly scenario: string; readonly seed: number } | undefined {
  if (task.kind === 'seed') return task;
  return task.kind === 'plan' ? task.plan : undefined;
}
