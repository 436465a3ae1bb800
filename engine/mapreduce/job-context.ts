/**
 * What the stages of one running job share: the cluster as they need it, the job's modules, its end (deadline, failure of
 * its client to stay), and what it counts.
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

/** The rooms below, as a coordinator needs them. */
export interface JobDependencies
  extends Asking, Pick<RoundDependencies, 'self' | 'ring' | 'view' | 'clock' | 'router'> {
  readonly coverage: Pick<Coverage, 'keys'>;
  readonly dispatcher: Pick<Dispatcher, 'get'>;
}

export class JobContext {
  readonly parts: JobDependencies;
  readonly #worker: PhaseWorker;
  /** By id, as they were when the job began. */
  readonly modules: ReadonlyMap<string, PhaseModule>;
  readonly counts: MapReduceCounts;
  readonly deadlineUs: number;
  /** Bytes of values that the job may gather in one place. */
  readonly bytesMax: number;
  readonly #ended = new Deferred<never>();
  #end: LockstepError | undefined;

  constructor(
    parts: JobDependencies,
    worker: PhaseWorker,
    modules: ReadonlyMap<string, PhaseModule>,
    counts: MapReduceCounts,
    limits: { readonly deadlineUs: number; readonly bytesMax: number },
  ) {
    this.parts = parts;
    this.#worker = worker;
    this.modules = modules;
    this.counts = counts;
    this.deadlineUs = limits.deadlineUs;
    this.bytesMax = limits.bytesMax;
    // Heard of by whoever waits; nobody may.
    this.#ended.promise.catch(() => undefined);
  }

  /** Runs a phase on this node, with the modules that the job began with; over its own objects unless told others. */
  async workHere(work: Work, store?: ObjectStore): Promise<WorkDone> {
    const fromUs = this.parts.clock.nowUs();
    try {
      const done = await this.#worker.work(work, {
        store: store ?? this.#worker.store,
        modules: { find: (id) => this.modules.get(id) },
      });
      this.counts.mapped += done.count;
      return done;
    } finally {
      this.counts.phaseUs.map += this.parts.clock.nowUs() - fromUs;
    }
  }

  /** Why nothing more is to be done; undefined: the job goes on. */
  get end(): LockstepError | undefined {
    return this.#end;
  }

  /** Microseconds left. */
  get leftUs(): number {
    return this.deadlineUs - this.parts.clock.nowUs();
  }

  /** Ends the job: everything that waits through `orEnd` rejects with `why`. The first reason stands. */
  finish(why: LockstepError): void {
    if (this.#end !== undefined) return;
    this.#end = why;
    this.#ended.reject(why);
  }

  /** The promise, or the job's end when that comes first. */
  orEnd<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#ended.promise]);
  }

  /** Throws the job's end when it has come. */
  check(): void {
    if (this.#end !== undefined) throw this.#end;
    if (this.leftUs <= 0) throw new LockstepError('Timeout', 'timeout');
  }
}
