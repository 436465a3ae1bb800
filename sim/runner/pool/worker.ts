/** The thread of a worker: takes a task, performs it, answers, and waits for the next one. */
import { parentPort, workerData } from 'node:worker_threads';

import { assert } from '../../../engine/base/assert.ts';
import type { ErrorCode } from '../../../engine/base/errors.ts';
import { LockstepError } from '../../../engine/base/errors.ts';
import { loadOwn } from '../../embedding/own-file.ts';
import type { Task, TaskAnswer } from '../task.ts';
import { performTask } from '../task.ts';

export interface WorkerSetup {
  readonly ownFile: string | undefined;
}

export type WorkerReply =
  | { readonly ok: true; readonly answer: TaskAnswer }
  | { readonly ok: false; readonly failure: WorkerFailure };

/** What an error is across threads: its class and its cause are lost on the way. */
export interface WorkerFailure {
  /** Of a `LockstepError`. */
  readonly code: ErrorCode | undefined;
  readonly message: string;
  /** Where it began. */
  readonly stack: string;
}

assert(parentPort !== null, 'worker.ts runs as a worker thread');
const port = parentPort;
const { ownFile } = workerData as WorkerSetup;
/**
 * Small buffers lie in one of so many bytes: each has its own memory outside the heap, which is made and swept away at
 * a cost of its own. Eight times Node.js's own size makes a run 2 % faster; what keeps one alive here is gone with the run.
 */
const pooledBytes = 64 * 1024;

Buffer.poolSize = pooledBytes;
// What is asked meanwhile waits until somebody listens.
const own = await loadOwn(ownFile);

port.on('message', (task: Task) => {
  performTask(task, () => performance.now(), own).then(
    (answer) => reply({ ok: true, answer }),
    (error: unknown) => reply({ ok: false, failure: failureOf(error) }),
  );
});

function reply(words: WorkerReply): void {
  port.postMessage(words);
}

function failureOf(error: unknown): WorkerFailure {
  if (!(error instanceof Error)) return { code: undefined, message: String(error), stack: '' };
  const first = error.cause instanceof Error ? error.cause : error;
  const code = error instanceof LockstepError ? error.code : undefined;
  return { code, message: first.message, stack: first.stack ?? first.message };
}
