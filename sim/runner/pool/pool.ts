/**
 * Worker threads that perform tasks: each thread runs whole simulations, one at a time, and shares nothing with the
 * others, so a run comes out the same whichever thread it falls to. This file lives in real time; no run does.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

import { LockstepError } from '../../../engine/base/errors.ts';
import { SimulatorFault } from '../simulator-fault.ts';
import type { Task, TaskAnswer } from '../task.ts';
import { describePoint } from '../../explore/crash-points.ts';
import { workerFileOf } from './build.ts';
import type { WorkerFailure, WorkerReply, WorkerSetup } from './worker.ts';

/**
 * Memory for what is young, in each thread. A run makes 50 KB of garbage per operation that dies within its event: with
 * room for more of it, less is alive at each collection. Twice Node.js's own 48 MB is where it stops to pay.
 */
const youngMbMax = 96;

export class Pool {
  readonly #start: () => Worker;
  /** By their seats: one begins when a task first falls to it, so that little work has few. */
  readonly #workers: (Worker | undefined)[];

  /**
   * `build`: the directory of the built engine to run (a planted copy is another one). `ownFile`: the module of the
   * user's scenarios and invariants, which each thread loads. `workersMax`: threads at once.
   */
  constructor(build: string, workersMax: number, ownFile?: string) {
    const workerFile = workerFileOf(build, ownFile);
    this.#workers = Array.from({ length: workersMax }, () => undefined);
    this.#start = () =>
      new Worker(workerFile, {
        resourceLimits: { maxYoungGenerationSizeMb: youngMbMax },
        workerData: { ownFile } satisfies WorkerSetup,
      });
  }

  /** Threads that were begun. */
  get workerCount(): number {
    return this.#workers.filter((worker) => worker !== undefined).length;
  }

  /**
   * Performs tasks as they come from `tasks`, as many at once as there may be workers; `onAnswer` hears each in the order
   * of completion. Rejects when a worker fails; stops asking for tasks then.
   */
  async performAll<T extends Task>(
    tasks: Iterator<T>,
    onAnswer: (task: T, answer: TaskAnswer) => void,
  ): Promise<void> {
    await Promise.all(this.#workers.map((_, seat) => this.#drain(seat, tasks, onAnswer)));
  }

  async #drain<T extends Task>(
    seat: number,
    tasks: Iterator<T>,
    onAnswer: (task: T, answer: TaskAnswer) => void,
  ): Promise<void> {
    for (let next = tasks.next(); next.done !== true; next = tasks.next()) {
      const worker = (this.#workers[seat] ??= this.#start());
      onAnswer(next.value, await answerTo(worker, next.value));
    }
  }

  /** Ends the threads. */
  async close(): Promise<void> {
    await Promise.all(this.#workers.map(async (worker) => worker?.terminate()));
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

/** The error as it was thrown in the worker. */
function errorOf({ code, message, stack }: WorkerFailure, task: Task): Error {
  if (code !== undefined) return new LockstepError(code, message);
  const cause = new Error(message);
  cause.stack = stack;
  return new SimulatorFault(describeTask(task), cause);
}

function describeTask(task: Task): string {
  if (task.kind === 'crashPoints') return task.points.map(describePoint).join(' and ');
  const { scenario, seed } = task.kind === 'plan' ? task.plan : task;
  return `${scenario}, seed ${seed}`;
}
