/** MapReduce that follows a test's script: every job yields the batches that the test states. */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Job } from '../../mapreduce/job.ts';
import type { Batch } from '../../mapreduce/pipeline.ts';
import type { MapReduceAdmin } from '../map-reduce-answers.ts';

/** A `MapReduceAdmin` that runs no phases. */
export class ScriptedJobs implements MapReduceAdmin {
  readonly bytesMax = 1000;
  batches: readonly Batch[] = [];
  /** The error that jobs end with after their batches; undefined: they succeed. */
  failure: LockstepError | undefined;
  /** If true, jobs never end after their batches. */
  stuck = false;
  refusals = 0;
  started: Job[] = [];
  ended = 0;

  refused(): void {
    this.refusals += 1;
  }

  start(job: Job): ReturnType<MapReduceAdmin['start']> {
    this.started.push(job);
    const over = new Deferred<never>();
    over.promise.catch(() => undefined);
    const left = [...this.batches];
    let done = false;
    const end = (): void => {
      if (!done) this.ended += 1;
      done = true;
      over.reject(new LockstepError('ShuttingDown', 'ended'));
    };
    const running: ReturnType<MapReduceAdmin['start']> = {
      [Symbol.asyncIterator]: () => running as never,
      next: async () => {
        const value = left.shift();
        if (value !== undefined) return { done: false, value };
        if (this.stuck) return over.promise;
        done = true;
        if (this.failure !== undefined) throw this.failure;
        return { done: true, value: undefined };
      },
      return: async () => {
        end();
        return Promise.resolve({ done: true, value: undefined });
      },
      end,
    };
    return running;
  }
}
