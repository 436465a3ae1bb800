/** A worker thread: receives a task, runs it, answers, and waits for the next one. */
import { parentPort, workerData } from 'node:worker_threads';

import { assert } from '../../../engine/base/assert.ts';
import type { ErrorCode } from '../../../engine/base/errors.ts';
import { LockstepError } from '../../../engine/base/errors.ts';
import { loadOwn } from '../../embedding/own-file.ts';
import type { Task, TaskAnswer } from '../task.ts';
import { performTask } from '../task.ts';

/** What the pool hands to a new worker. */
export interface WorkerSetup {
  readonly ownFile: string | undefined;
}

/** A worker's answer to a task. */
export type WorkerReply =
  | { readonly ok: true; readonly answer: TaskAnswer }
  | { readonly ok: false; readonly failure: WorkerFailure };

/** An error as it crosses threads, which loses its class and its cause. */
export interface WorkerFailure {
  /** The code of a `LockstepError`; undefined for other errors. */
  readonly code: ErrorCode | undefined;
  readonly message: string;
  /** The stack of the error's first cause. */
  readonly stack: string;
}

assert(parentPort !== null, 'worker.ts runs as a worker thread');
const port = parentPort;
const { ownFile } = workerData as WorkerSetup;
/**
 * Size in bytes of the pool from which Node.js takes small buffers: each pool is memory outside the heap with a cost of
 * its own. Eight times Node.js's default makes a run 2 % faster. A buffer that outlives its run would keep its pool,
 * but none does.
 */
const pooledBytes = 64 * 1024;

Buffer.poolSize = pooledBytes;
// Messages that arrive meanwhile wait until a listener is attached. A file that cannot be loaded ends the thread.
loadOwn(ownFile).then(serve, (error: unknown) => {
  setImmediate(() => {
    throw error;
  });
});

function serve(own: Awaited<ReturnType<typeof loadOwn>>): void {
  port.on('message', (task: Task) => {
    performTask(task, () => performance.now(), own).then(
      (answer) => reply({ ok: true, answer }),
      (error: unknown) => reply({ ok: false, failure: failureOf(error) }),
    );
  });
}

function reply(words: WorkerReply): void {
  port.postMessage(words);
}

function failureOf(error: unknown): WorkerFailure {
  if (!(error instanceof Error)) return { code: undefined, message: String(error), stack: '' };
  const first = error.cause instanceof Error ? error.cause : error;
  const code = error instanceof LockstepError ? error.code : undefined;
  return { code, message: first.message, stack: first.stack ?? first.message };
}
