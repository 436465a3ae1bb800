/**
 * Forms the answers of MapReduce jobs that HTTP and the binary protocol share: errors as JSON, and collected results.
 */
import type { BucketName, Permit } from '../auth/permit.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { Job, Json } from '../mapreduce/job.ts';
import type { RunningJob } from '../mapreduce/mapreduce.ts';
import type { Batch } from '../mapreduce/pipeline.ts';
import { PhaseError } from '../mapreduce/phase-error.ts';
import { sizeOf } from '../mapreduce/phase-worker.ts';

/** MapReduce as the listeners use it. `mapreduce/` implements it; tests use a script. */
export interface MapReduceAdmin {
  /** The most bytes of results that a listener collects for one client. */
  readonly bytesMax: number;
  /** Counts a request that describes no valid job. */
  refused(): void;
  /** Starts a job. Throws `WasmNotImplemented`, `BadRequest`, `NotFound`, `Overloaded` or `ShuttingDown`. */
  start(job: Job): Pick<RunningJob, 'next' | 'return' | 'end' | typeof Symbol.asyncIterator>;
}

/**
 * The job, limited to what its client may reach: its own inputs, and those that a phase names for the next one. Throws
 * `Forbidden` for inputs out of reach. An input of a later phase ends the job, which counts as one refused request.
 */
export function withinReach(job: Job, permit: Permit): Job {
  if (!permit.isLimited) return job;
  permit.mustReach(job.inputs.kind === 'bucket' ? [job.inputs] : job.inputs.items);
  let refused: LockstepError | undefined;
  return {
    ...job,
    refusalOf: (input) => {
      if (permit.mayReach(input.type, input.bucket)) return undefined;
      refused ??= refusalOf(permit, input);
      return refused;
    },
  };
}

function refusalOf(permit: Permit, input: BucketName): LockstepError {
  try {
    permit.mustReach([input]);
  } catch (error) {
    return asLockstepError(error);
  }
  throw new LockstepError('Internal', 'a permit reaches what it does not reach');
}

/**
 * An error in the JSON that Riak's clients parse. A phase's error has its index, its input and, as type, the error
 * code.
 */
export function failureJson(error: LockstepError): string {
  if (error.code === 'Timeout') return JSON.stringify({ error: 'timeout' });
  if (!(error instanceof PhaseError)) return JSON.stringify({ error: error.message, type: error.code });
  const { phase, input, code: type, message } = error;
  return JSON.stringify({ phase, error: message, ...(input === undefined ? {} : { input }), type });
}

/**
 * Collects all results of a job: those of its one kept phase, or one list per kept phase. Rejects with `TooLarge`
 * beyond `bytesMax` bytes, and with the job's own error.
 */
export async function gatherResults(
  { phases }: Job,
  batches: AsyncIterable<Batch> & Pick<RunningJob, 'end'>,
  bytesMax: number,
): Promise<readonly Json[]> {
  const kept = new Map<number, Json[]>();
  for (const [index, phase] of phases.entries()) if (phase.keep) kept.set(index, []);
  if (phases.length === 0) kept.set(0, []);
  let bytes = 0;
  for await (const { phase, values } of batches) {
    const list = kept.get(phase);
    bytes += sizeOf(values);
    if (bytes > bytesMax) {
      const detail = `the results have more than ${bytesMax} bytes; take them in chunks (?chunked=true), or reduce them`;
      const error = new LockstepError('TooLarge', detail);
      // Else the end of the loop would end the job as one that its client has left.
      batches.end(error);
      throw error;
    }
    for (const value of values) list?.push(value);
  }
  const lists = [...kept.values()];
  return lists.length === 1 ? (lists[0] ?? []) : lists;
}
