/**
 * The state that the stages of one running job share: the modules of the cluster that they use, the job's Wasm modules,
 * its end (deadline, disconnected client, stopping node) and its counters.
 */
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Coverage } from './listing/coverage.ts';
import type { Asking, RoundDependencies } from '../replication/round-dependencies.ts';
import type { Dispatcher } from '../replication/requests.ts';
import type { PhaseModule } from '../wasm/phase-modules.ts';
import type { MapReduceCounts } from './metrics.ts';
import type { Work, WorkDone } from './peer-messages.ts';
import type { ObjectStore, PhaseWorker } from './phase-worker.ts';

/** What a job's coordinator needs of other modules. */
export interface JobDependencies
  extends Asking, Pick<RoundDependencies, 'self' | 'ring' | 'view' | 'clock' | 'router'> {
  readonly coverage: Pick<Coverage, 'keys'>;
  readonly dispatcher: Pick<Dispatcher, 'get'>;
}

/** The context of one job. */
export class JobContext {
  readonly parts: JobDependencies;
  readonly #worker: PhaseWorker;
  /** Wasm modules by id, in the version current when the job began. */
  readonly modules: ReadonlyMap<string, PhaseModule>;
  readonly counts: MapReduceCounts;
  /** On the clock's `nowUs`. */
  readonly deadlineUs: number;
  /** Most bytes of values that the job may collect in one place. */
  readonly bytesMax: number;
  /** Most values that a reduce function sees at once, besides its own earlier results. */
  readonly batchMax: number;
  /** One for each `orEnd` under way. A promise that lasts as long as the job would hold the result of every wait. */
  readonly #waits = new Set<Deferred<never>>();
  #end: LockstepError | undefined;

  constructor(
    parts: JobDependencies,
    worker: PhaseWorker,
    modules: ReadonlyMap<string, PhaseModule>,
    counts: MapReduceCounts,
    limits: { readonly deadlineUs: number; readonly bytesMax: number; readonly batchMax: number },
  ) {
    this.parts = parts;
    this.#worker = worker;
    this.modules = modules;
    this.counts = counts;
    this.deadlineUs = limits.deadlineUs;
    this.bytesMax = limits.bytesMax;
    this.batchMax = limits.batchMax;
  }

  /** Runs a phase on this node with the job's module versions; over this node's objects unless `store` is given. */
  async workHere(work: Work, store?: ObjectStore): Promise<WorkDone> {
    const fromUs = this.parts.clock.nowUs();
    try {
      const done = await this.#worker.work(work, {
        store: store ?? this.#worker.store,
        isRemote: store !== undefined,
        modules: { find: (id) => this.modules.get(id) },
      });
      this.counts.mapped += done.count;
      return done;
    } finally {
      this.counts.phaseUs.map += this.parts.clock.nowUs() - fromUs;
    }
  }

  /** Why the job has ended; undefined while it runs. */
  get end(): LockstepError | undefined {
    return this.#end;
  }

  /** Microseconds left until the deadline. */
  get leftUs(): number {
    return this.deadlineUs - this.parts.clock.nowUs();
  }

  /** Ends the job: every promise of `orEnd` rejects with `why`. Later reasons are ignored. */
  finish(why: LockstepError): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    for (const wait of this.#waits) wait.reject(why);
  }

  /** Settles as the promise, or rejects with the job's end if that comes first. */
  async orEnd<T>(promise: Promise<T>): Promise<T> {
    const wait = new Deferred<never>();
    if (this.#end === undefined) this.#waits.add(wait);
    else wait.reject(this.#end);
    try {
      return await Promise.race([promise, wait.promise]);
    } finally {
      this.#waits.delete(wait);
    }
  }

  /** Throws the job's end if it has ended, or `Timeout` past the deadline. */
  check(): void {
    if (this.#end !== undefined) throw this.#end;
    if (this.leftUs <= 0) throw new LockstepError('Timeout', 'timeout');
  }
}
