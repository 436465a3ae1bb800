/**
 * MapReduce in the binary protocol: one frame per batch of results, with its phase and a JSON array, then a frame that
 * says `done`. Each frame is made when the client has taken the one before it. A client that goes away, or that says it
 * sends no more, takes its job back.
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

export interface MapReduceCall {
  readonly kind: 'mapReduce';
  readonly job: Job;
}

/** What the calls work with. */
export interface MapReduceCallDependencies {
  readonly mapReduce: MapReduceAdmin;
  readonly jobLimits: JobLimits;
}

/** A job's answer on its way. */
export interface JobAnswer {
  /** Iterating rejects with a `RiakRefusal` whose text says what has failed. */
  readonly frames: AsyncGenerator<Buffer, void, undefined>;
  /** The client is gone. */
  gone(): void;
}

const jsonType = 'application/json';

/** Undefined: the frame is about something else. Throws `BadRequest`, also for another content type. */
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

/** Begins the job. Throws what keeps it from beginning. */
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
