/** The MapReduce clients of a run, and the jobs that read every key after the calm. */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { JobKind, JobRecord, ListingRecord } from '../evidence/jobs.ts';
import type { PlanJob } from '../plan/plan.ts';
import type { ClientKey, ClientTarget } from './client.ts';
import type { Impatience } from './impatient-client.ts';
import { JobClient } from './job-client.ts';

/** What the load provides to them. */
export interface JobLoadContext {
  readonly jobs: readonly PlanJob[];
  readonly targets: () => readonly ClientTarget[];
  readonly keys: () => readonly ClientKey[];
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  /** Boots a host and runs the task on it. */
  readonly spawn: (name: string, task: (io: Io) => Promise<void>) => void;
}

const retryUs = 200_000;

/** The MapReduce clients of one run and the records of their jobs. */
export class JobLoad {
  readonly records: JobRecord[] = [];
  readonly listings: ListingRecord[] = [];
  readonly #context: JobLoadContext;
  readonly #impatience = new Map<string, Impatience>();

  constructor(context: JobLoadContext) {
    this.#context = context;
  }

  get impatience(): ReadonlyMap<string, Impatience> {
    return this.#impatience;
  }

  begin(stopped: () => boolean): void {
    const { jobs, spawn } = this.#context;
    for (const index of new Set(jobs.map(({ client }) => client))) {
      const mine = jobs.filter(({ client }) => client === index);
      const name = `j${index}`;
      spawn(name, (io) => {
        const client = this.#client(name, io);
        this.#impatience.set(name, client.impatience);
        return client.work(mine, stopped);
      });
    }
  }

  /** Asks every node for every key by name, for each bucket, and for a listing of it over each protocol, until it has answered or `stopped` returns true. */
  lookAtAll(stopped: () => boolean): void {
    const { jobs, targets, keys, spawn } = this.#context;
    if (jobs.length === 0) return;
    const all = keys().map((_, key) => key);
    const first = keys().findIndex(({ siblings }) => siblings);
    const other = keys().findIndex(({ siblings }) => !siblings);
    const wholes = [first, other].filter((key) => key >= 0);
    const asked: readonly { readonly kind: JobKind; readonly keys: readonly number[] }[] = [
      { kind: 'objects', keys: all },
      { kind: 'links', keys: all },
      { kind: 'count', keys: all },
      ...wholes.map((key) => ({ kind: 'whole', keys: [key] }) as const),
    ];
    for (const target of targets()) {
      const name = `j-after-${target.node}`;
      spawn(name, async (io) => {
        const client = this.#client(name, io);
        for (const [index, job] of asked.entries()) {
          do {
            client.turnTo(target);
            if (await client.run({ id: `final ${index}`, ...job }, true)) break;
            await sleep(io.clock, retryUs);
          } while (!stopped());
        }
        for (const key of wholes)
          for (const over of ['pbc', 'http'] as const) {
            client.turnTo(target);
            while (!(await client.list(key, over, true)) && !stopped()) {
              await sleep(io.clock, retryUs);
              client.turnTo(target);
            }
          }
        client.turnTo(target);
      });
    }
  }

  #client(name: string, io: Io): JobClient {
    const { targets, keys, nowUs, connectTimeoutUs, answerTimeoutUs } = this.#context;
    const { records, listings } = this;
    return new JobClient({
      ...{ name, io, targets: targets(), keys: keys(), records, listings, nowUs },
      ...{ connectTimeoutUs, answerTimeoutUs },
    });
  }
}
