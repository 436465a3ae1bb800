/** The Redis clients of a run, and the client that reads back what they wrote. */
import type { Io } from '../../engine/io/io.ts';
import type { PlanRedisOperation } from '../plan/plan.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { ClientTarget } from './client.ts';
import type { Impatience } from './impatient-client.ts';
import { RedisClient } from './redis-client.ts';
import { readBackRedis } from './redis-reads.ts';

/** What the load provides to its Redis clients. */
export interface RedisLoadContext {
  readonly operations: readonly PlanRedisOperation[];
  readonly targets: () => readonly ClientTarget[];
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  /** Boots a host and runs the task on it. */
  readonly spawn: (name: string, task: (io: Io) => Promise<void>) => void;
}

/** The Redis clients of one run and the records of their operations. */
export class RedisLoad {
  readonly records: RedisRecord[] = [];
  readonly #context: RedisLoadContext;
  readonly #clients = new Map<string, RedisClient>();

  constructor(context: RedisLoadContext) {
    this.#context = context;
  }

  begin(stopped: () => boolean): void {
    const { operations } = this.#context;
    for (const index of new Set(operations.map(({ client }) => client))) {
      const mine = operations.filter(({ client }) => client === index);
      this.#context.spawn(`r${index}`, (io) => {
        const client = this.#client(`r${index}`, io);
        this.#clients.set(`r${index}`, client);
        return client.work(mine, stopped);
      });
    }
  }

  get impatience(): readonly Impatience[] {
    return [...this.#clients.values()].map(({ impatience }) => impatience);
  }

  /** The impatience of the client of that name; undefined if there is none. */
  impatienceOf(name: string): Impatience | undefined {
    return this.#clients.get(name)?.impatience;
  }

  /** Makes that many clients increment the plan's first counter at once. Returns false if the plan has none. */
  crowd(id: string, clients: number): boolean {
    const counted = this.#context.operations.find(({ kind }) => kind === 'incr');
    if (counted === undefined) return false;
    for (let index = 0; index < clients; index++) {
      const name = `${id}.r${index}`;
      const operation = { ...counted, id: name, thinkUs: 0 };
      this.#context.spawn(name, (io) => this.#client(name, io).work([operation], () => false));
    }
    return true;
  }

  readBack(stopped: () => boolean): void {
    const { operations, targets } = this.#context;
    if (operations.length === 0) return;
    this.#context.spawn('redis-reader', (io) =>
      readBackRedis(this.#client('redis-reader', io), targets(), operations, io, stopped),
    );
  }

  #client(name: string, io: Io): RedisClient {
    const { operations, nowUs, connectTimeoutUs, answerTimeoutUs } = this.#context;
    const transfers = operations.filter(({ kind }) => kind === 'transfer');
    const paying = operations.flatMap(({ kind, other }) =>
      kind === 'script' || kind === 'watched' ? [other + 1] : [],
    );
    return new RedisClient({
      name,
      io,
      targets: this.#context.targets(),
      accounts: Math.max(0, ...transfers.map(({ key, other }) => Math.max(key, other) + 1), ...paying),
      records: this.records,
      nowUs,
      connectTimeoutUs,
      answerTimeoutUs,
    });
  }
}
