/** What MapReduce says to clients, in either protocol. */
import { LockstepError } from '../base/errors.ts';
import type { Job, Json } from '../mapreduce/job.ts';
import type { RunningJob } from '../mapreduce/mapreduce.ts';
import type { Batch } from '../mapreduce/pipeline.ts';
import { PhaseError } from '../mapreduce/phase-error.ts';
import { sizeOf } from '../mapreduce/phase-worker.ts';

/** MapReduce as the listeners use it: engine/mapreduce, or a test's own. */
export interface MapReduceAdmin {
  /** Bytes of results gathered for one client. */
  readonly bytesMax: number;
  /** A request was none that makes a job. */
  refused(): void;
  /** Begins a job. Throws `WasmNotImplemented`, `BadRequest`, `NotFound`, `Overloaded`, `ShuttingDown`. */
  start(job: Job): Pick<RunningJob, 'next' | 'return' | 'end' | typeof Symbol.asyncIterator>;
}

/** An error as Riak's clients know it: a phase's with its index, its input and the product's code as its type. */
export function failureJson(error: LockstepError): string {
  if (error.code === 'Timeout') return JSON.stringify({ error: 'timeout' });
  if (!(error instanceof PhaseError)) return JSON.stringify({ error: error.message, type: error.code });
  const { phase, input, code: type, message } = error;
  return JSON.stringify({ phase, error: message, ...(input === undefined ? {} : { input }), type });
}

/**
 * All results of a job: those of its one kept phase, or a list per kept phase. Rejects with `TooLarge` beyond `bytesMax`,
 * and with what the job rejects with.
 */
export async function gatherResults(
  { phases }: Job,
  batches: AsyncIterable<Batch>,
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
      throw new LockstepError('TooLarge', detail);
    }
    for (const value of values) list?.push(value);
  }
  const lists = [...kept.values()];
  return lists.length === 1 ? (lists[0] ?? []) : lists;
}
