/**
 * MapReduce on one node: coordinates the jobs of its clients, and runs phases for peers over the objects that it holds.
 * The number of concurrent jobs, their duration and the bytes they collect are bounded.
 */
import { asLockstepError, LockstepError } from '../base/errors.ts';
import { textOf } from '../base/ids.ts';
import type { ByteString } from '../base/ids.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { PhaseModule, PhaseModules } from '../wasm/phase-modules.ts';
import { answerInTask } from '../peer/wire/answer.ts';
import type { PeerReply } from '../peer/wire/messages.ts';
import type { Job } from './job.ts';
import type { JobDependencies } from './job-context.ts';
import { JobContext } from './job-context.ts';
import type { JobOutcome } from './metrics.ts';
import { MapReduceCounts } from './metrics.ts';
import { decodeWork, encodeWorkDone } from './peer-messages.ts';
import type { ObjectStore } from './phase-worker.ts';
import { PhaseWorker } from './phase-worker.ts';
import type { Batch } from './pipeline.ts';
import { runPipeline } from './pipeline.ts';

/** Limits of jobs on one node. */
export interface MapReduceOptions {
  /** Timeout of a job whose client gives none, in milliseconds. */
  readonly timeoutMs: number;
  readonly jobCountMax: number;
  /** Most bytes of values that one job may collect in one place. */
  readonly bytesMax: number;
  /** Most values that a reduce function sees at once, besides its own earlier results. */
  readonly batchMax: number;
  /** Most bytes of the results that one message to a coordinator holds. */
  readonly answerBytesMax: number;
}

/** MapReduce of one node, as coordinator and as replica. */
export class MapReduce {
  readonly counts = new MapReduceCounts();
  readonly #io: Pick<Io, 'spawn' | 'clock'>;
  readonly #parts: JobDependencies;
  readonly #modules: PhaseModules;
  readonly #worker: PhaseWorker;
  readonly #knowsType: (type: ByteString) => boolean;
  readonly #options: MapReduceOptions;
  readonly #jobs = new Set<RunningJob>();
  #stopped = false;

  constructor(
    io: Pick<Io, 'spawn' | 'clock'>,
    parts: JobDependencies,
    store: ObjectStore,
    modules: PhaseModules,
    knowsType: (type: ByteString) => boolean,
    options: MapReduceOptions,
  ) {
    this.#io = io;
    this.#parts = parts;
    this.#modules = modules;
    this.#worker = new PhaseWorker(store, modules, io.clock);
    this.#knowsType = knowsType;
    this.#options = options;
  }

  /** Most bytes of results that the node collects for a client that does not take them in chunks. */
  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  /**
   * Begins a job; the caller iterates its batches once. Throws `WasmNotImplemented`, `BadRequest` (a module that exports
   * no phase), `NotFound` (an unknown module or bucket type), `Overloaded`, `ShuttingDown`.
   */
  start(job: Job): RunningJob {
    try {
      return this.#start(job);
    } catch (error) {
      this.counts.jobs.refused += 1;
      throw error;
    }
  }

  /** Counts a request that could not be parsed as a job. */
  refused(): void {
    this.counts.jobs.refused += 1;
  }

  /** Runs a phase for a peer that coordinates a job, and replies. */
  answer(payload: Uint8Array, reply: (reply: PeerReply) => void): void {
    const asked = Uint8Array.from(payload);
    answerInTask(this.#io, 'mapred.answer', reply, async () => {
      const fromUs = this.#io.clock.nowUs();
      try {
        const done = await this.#worker.work(decodeWork(asked));
        this.counts.mapped += done.count;
        const words = this.#fitting(encodeWorkDone(done));
        this.counts.batchesServed += 1;
        return { kind: 'phaseMapped', words };
      } finally {
        this.counts.phaseUs.map += this.#io.clock.nowUs() - fromUs;
      }
    });
  }

  /** Throws `TooLarge`, after which the coordinator runs the inputs itself. */
  #fitting(results: Buffer): Buffer {
    const { answerBytesMax } = this.#options;
    if (results.length <= answerBytesMax) return results;
    const detail = `the results have ${results.length} bytes; a message holds at most ${answerBytesMax}`;
    throw new LockstepError('TooLarge', detail);
  }

  /** Ends all jobs with `ShuttingDown` and refuses further ones. */
  stop(): void {
    this.#stopped = true;
    for (const job of this.#jobs) job.end(new LockstepError('ShuttingDown'));
  }

  #start(job: Job): RunningJob {
    if (this.#stopped) throw new LockstepError('ShuttingDown');
    const { jobCountMax, bytesMax, batchMax } = this.#options;
    const modules = this.#modulesOf(job);
    this.#checkTypes(job);
    if (this.#jobs.size >= jobCountMax)
      throw new LockstepError('Overloaded', `${jobCountMax} jobs are under way; try again later`);
    const timeoutUs = (job.timeoutMs ?? this.#options.timeoutMs) * 1000;
    const deadlineUs = this.#io.clock.nowUs() + timeoutUs;
    const limits = { deadlineUs, bytesMax, batchMax };
    const context = new JobContext(this.#parts, this.#worker, modules, this.counts, limits);
    const timer = this.#io.clock.after(timeoutUs, () =>
      context.finish(new LockstepError('Timeout', 'timeout')),
    );
    const running: RunningJob = new RunningJob(job, context, timer, (outcome) => {
      this.#jobs.delete(running);
      this.counts.running -= 1;
      this.counts.jobs[outcome] += 1;
    });
    this.#jobs.add(running);
    this.counts.running += 1;
    return running;
  }

  /** The job's Wasm modules, each in its current version. */
  #modulesOf({ phases }: Job): ReadonlyMap<string, PhaseModule> {
    const modules = new Map<string, PhaseModule>();
    for (const [index, phase] of phases.entries()) {
      if (phase.kind === 'link' || phase.run.kind !== 'wasm') continue;
      const { module: id } = phase.run;
      if (!this.#modules.enabled)
        throw new LockstepError(
          'WasmNotImplemented',
          `phase ${index} is a Wasm phase, and this node runs without the wasm feature`,
        );
      const module = this.#modules.find(id);
      if (module === undefined) throw this.#noPhase(index, id);
      modules.set(id, module);
    }
    return modules;
  }

  /** The error if no module has this id, or if the module lacks the exports of a phase. */
  #noPhase(index: number, id: string): LockstepError {
    const name = JSON.stringify(id);
    const lacking = this.#modules.lacking(id);
    if (lacking === undefined)
      return new LockstepError('NotFound', `phase ${index}: no Wasm module ${name} is registered`);
    const detail = `phase ${index}: the Wasm module ${name} is registered, but cannot run as a phase: it does not export ${lacking.join(' and ')}`;
    return new LockstepError('BadRequest', detail);
  }

  #checkTypes({ inputs }: Job): void {
    const types = inputs.kind === 'bucket' ? [inputs.type] : inputs.items.map(({ type }) => type);
    const unknown = types.find((type) => !this.#knowsType(type));
    if (unknown !== undefined) throw new LockstepError('NotFound', `Unknown bucket type: ${textOf(unknown)}`);
  }
}

/** A running job. Iterating yields its batches; ending the iteration, or calling `end`, ends the job. */
export class RunningJob implements AsyncIterableIterator<Batch, void, undefined> {
  readonly #context: JobContext;
  readonly #batches: AsyncGenerator<Batch, void, undefined>;
  readonly #timer: Timer;
  readonly #over: (outcome: JobOutcome) => void;
  #done = false;

  constructor(job: Job, context: JobContext, timer: Timer, over: (outcome: JobOutcome) => void) {
    this.#context = context;
    this.#batches = runPipeline(job, context);
    this.#timer = timer;
    this.#over = over;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * The next batch. Rejects, once, with `PhaseError`, `Timeout`, or the error that keeps the cluster from continuing
   * (`NoTargets`, `NoQuorum`, `ShuttingDown`).
   */
  async next(): Promise<IteratorResult<Batch, void>> {
    if (this.#done) return { done: true, value: undefined };
    try {
      const result = await this.#context.orEnd(this.#batches.next());
      if (result.done === true) this.#finish('completed');
      return result;
    } catch (error) {
      const timedOut =
        error instanceof LockstepError && error.code === 'Timeout' && this.#context.leftUs <= 0;
      this.#finish(timedOut ? 'timedOut' : isCancelled(error) ? 'cancelled' : 'failed');
      this.#abandon(error);
      throw error;
    }
  }

  /** The reader wants no further batch. */
  async return(): Promise<IteratorResult<Batch, void>> {
    this.end(cancelled());
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Ends the job early; a pending `next` rejects with `why`. */
  end(why: LockstepError = cancelled()): void {
    if (this.#done) return;
    this.#finish(isCancelled(why) ? 'cancelled' : 'failed');
    this.#abandon(why);
  }

  #finish(outcome: JobOutcome): void {
    if (this.#done) return;
    this.#done = true;
    this.#timer.cancel();
    this.#over(outcome);
  }

  /** Abandons work under way; it ends by itself, and its outcome is ignored. */
  #abandon(why: unknown): void {
    this.#context.finish(asLockstepError(why));
    this.#batches.return().catch(() => undefined);
  }
}

const cancelledText = 'the client has gone away';

function cancelled(): LockstepError {
  return new LockstepError('ShuttingDown', cancelledText);
}

function isCancelled(error: unknown): boolean {
  return error instanceof LockstepError && error.code === 'ShuttingDown';
}
