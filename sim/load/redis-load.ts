/** The Redis clients of a run, and who reads back what they wrote. */
import type { Io } from '../../engine/io/io.ts';
import type { PlanRedisOperation } from '../plan/plan.ts';
import type { RedisRecord } from '../history/redis.ts';
import type { ClientTarget } from './client.ts';
import { RedisClient } from './redis-client.ts';
import { readBackRedis } from './redis-reads.ts';

/** What the load gives its Redis clients. */
export interface RedisLoadRoom {
  readonly operations: readonly PlanRedisOperation[];
  readonly targets: () => readonly ClientTarget[];
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  /** Boots a host and runs the task on it. */
  readonly spawn: (name: string, task: (io: Io) => Promise<void>) => void;
}

export class RedisLoad {
  readonly records: RedisRecord[] = [];
  readonly #room: RedisLoadRoom;

  constructor(room: RedisLoadRoom) {
    this.#room = room;
  }

  begin(stopped: () => boolean): void {
    const { operations } = this.#room;
    for (const index of new Set(operations.map(({ client }) => client))) {
      const mine = operations.filter(({ client }) => client === index);
      this.#room.spawn(`r${index}`, (io) => this.#client(`r${index}`, io).work(mine, stopped));
    }
  }

  readBack(stopped: () => boolean): void {
    const { operations, targets } = this.#room;
    if (operations.length === 0) return;
    this.#room.spawn('redis-reader', (io) =>
      readBackRedis(this.#client('redis-reader', io), targets(), operations, io, stopped),
    );
  }

  #client(name: string, io: Io): RedisClient {
    const { operations, nowUs, connectTimeoutUs, answerTimeoutUs } = this.#room;
    const transfers = operations.filter(({ kind }) => kind === 'transfer');
    return new RedisClient({
      name,
      io,
      targets: this.#room.targets(),
      accounts: Math.max(0, ...transfers.map(({ key, other }) => Math.max(key, other) + 1)),
      records: this.records,
      nowUs,
      connectTimeoutUs,
      answerTimeoutUs,
    });
  }
}
