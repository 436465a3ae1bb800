/** The thread of a worker: takes a task, performs it, answers, and waits for the next one. */
import { parentPort } from 'node:worker_threads';

import { assert } from '../../engine/base/assert.ts';
import type { Task, TaskAnswer } from '../run/task.ts';
import { performTask } from '../run/task.ts';

export type WorkerReply =
  { readonly ok: true; readonly answer: TaskAnswer } | { readonly ok: false; readonly message: string };

assert(parentPort !== null, 'worker.ts runs as a worker thread');
const port = parentPort;

port.on('message', (task: Task) => {
  performTask(task, () => performance.now()).then(
    (answer) => reply({ ok: true, answer }),
    (error: unknown) => reply({ ok: false, message: describe(error) }),
  );
});

function reply(words: WorkerReply): void {
  port.postMessage(words);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
