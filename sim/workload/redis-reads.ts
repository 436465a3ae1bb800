/**
 * Reads after the calm: every counter, all accounts and every value that expires, through every node, until each is
 * answered.
 */
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { PlanRedisOperation } from '../plan/plan.ts';
import type { RedisKind } from '../evidence/redis.ts';
import type { ClientTarget } from './client.ts';
import type { RedisClient } from './redis-client.ts';

const retryUs = 200_000;

/** The kinds of operations that read back what each kind wrote. */
const readers: Readonly<Partial<Record<RedisKind, readonly RedisKind[]>>> = {
  incr: ['read'],
  transfer: ['snapshot'],
  mortal: ['look'],
  script: ['read', 'snapshot'],
  watched: ['read', 'snapshot'],
  pipeline: ['pipeline'],
  database: ['database'],
};

/** Reads back everything that `operations` may have written, until it is answered or `stopped` returns true. */
export async function readBackRedis(
  client: RedisClient,
  targets: readonly ClientTarget[],
  operations: readonly PlanRedisOperation[],
  io: Io,
  stopped: () => boolean,
): Promise<void> {
  for (const target of targets) {
    client.turnTo(target);
    for (const { kind, key } of readsOf(operations)) {
      const id = `final ${kind} ${key} at ${target.node}`;
      while (!stopped() && (await client.perform({ id, kind, key, other: 0, amount: 0 }, true)) !== 'ok') {
        await sleep(io.clock, retryUs);
        client.turnTo(target);
      }
    }
  }
  client.close();
}

function readsOf(
  operations: readonly PlanRedisOperation[],
): readonly { readonly kind: RedisKind; readonly key: number }[] {
  const reads = new Map<string, { readonly kind: RedisKind; readonly key: number }>();
  for (const { kind, key } of operations) {
    for (const reader of readers[kind] ?? []) {
      const read = { kind: reader, key: reader === 'snapshot' ? 0 : key };
      reads.set(`${read.kind} ${read.key}`, read);
    }
  }
  return [...reads.values()];
}
