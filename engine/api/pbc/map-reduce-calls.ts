/**
 * Parses and answers MapReduce calls of the binary protocol: one frame per batch of results, with its phase and a JSON
 * array, then a frame that is marked `done`. Each frame is made when the client has taken the previous one. A client
 * that disconnects, or ends its side, cancels its job.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import type { Job, JobLimits } from '../../mapreduce/job.ts';
import { parseJob } from '../../mapreduce/parse-job.ts';
import type { MapReduceAdmin } from '../map-reduce-answers.ts';
import { failureJson } from '../map-reduce-answers.ts';
import { RiakRefusal } from './call-texts.ts';
import { stringOf } from './contents.ts';
import type { Frame } from './frames.ts';
import { messages } from './schema.ts';

/** A decoded MapReduce job. */
export interface MapReduceCall {
  readonly kind: 'mapReduce';
  readonly job: Job;
}

/** What the calls work with. */
export interface MapReduceCallDependencies {
  readonly mapReduce: MapReduceAdmin;
  readonly jobLimits: JobLimits;
}

/** The answer of a running job. */
export interface JobAnswer {
  /** Iterating rejects with a `RiakRefusal` whose text describes the failure, or with `Timeout`. */
  readonly frames: AsyncGenerator<Buffer, void, undefined>;
  /** Ends the job; the session calls it when the client is gone. */
  gone(): void;
}

const jsonType = 'application/json';

/** Undefined if the frame holds another kind of call. Throws `BadRequest`, also for another content type. */
export function parseMapReduceCall(
  frame: Frame,
  { mapReduce, jobLimits }: MapReduceCallDependencies,
): MapReduceCall | undefined {
  if (frame.code !== messages.mapRedReq.code) return undefined;
  try {
    const { request, content_type: contentType } = messages.mapRedReq.decode(frame.body);
    const type = textOf(stringOf(contentType));
    if (type !== jsonType) {
      const erlang = type === 'application/x-erlang-binary' ? ', of which no terms are read' : '';
      throw new LockstepError('BadRequest', `a job is ${jsonType}, not ${JSON.stringify(type)}${erlang}`);
    }
    return { kind: 'mapReduce', job: parseJob(request, jobLimits) };
  } catch (error) {
    mapReduce.refused();
    throw error;
  }
}

/** Starts the job. Throws the error that keeps it from starting. */
export function answerMapReduceCall(
  { mapReduce }: MapReduceCallDependencies,
  { job }: MapReduceCall,
): JobAnswer {
  const running = mapReduce.start(job);
  return { frames: framesOf(running), gone: () => running.end() };
}

async function* framesOf(
  running: ReturnType<MapReduceAdmin['start']>,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    for await (const { phase, values } of running) {
      yield messages.mapRedResp.encode({ phase, response: Buffer.from(JSON.stringify(values)) });
    }
  } catch (caught) {
    const error = asLockstepError(caught);
    throw error.code === 'Timeout' ? error : new RiakRefusal(error.code, failureJson(error));
  }
  yield messages.mapRedResp.encode({ done: true });
}
