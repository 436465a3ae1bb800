/**
 * The flushes' part of `durable-before-ack` (INV5). When a client has the OK to FLUSHDB or FLUSHALL, the new epoch, or
 * the one of a later flush, is durable in every datacenter on all members of a majority of the racks, so that every
 * quorum meets a replica that knows of the flush, whatever restarts. The disks alone say so.
 *
 * Racks whose members change count as soon as one of their nodes knows. Each loss of a lying disk excuses one rack; where
 * none is left that must hold it, the datacenter is skipped.
 */
import type { FlushCopies, FlushRack } from '../../evidence/flush-copies.ts';
import { databaseActOf } from '../../evidence/redis-databases.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** Checks every acknowledged flush. `lostBetween`: number of nodes whose disks lost data between two instants. */
export function checkFlushCopies(
  records: readonly RedisRecord[],
  copies: FlushCopies,
  lostBetween: (fromUs: number, toUs: number) => number,
): CheckReport {
  const tally = new Tally('durable-before-ack');
  const datacenters = new Set(copies.racks.map(({ datacenter }) => datacenter));
  for (const record of records) {
    if (record.outcome !== 'ok' || !isFlush(record)) continue;
    const { invokedUs, completedUs } = record;
    const knows = (node: string): boolean => copies.knownSince(node, invokedUs) <= completedUs;
    for (const datacenter of datacenters) {
      const racks = copies.racks.filter((rack) => rack.datacenter === datacenter);
      const lasting = racks.filter(({ members }) => members.length > 0).length;
      const need = Math.floor(lasting / 2) + 1 - lostBetween(invokedUs, completedUs);
      if (need <= 0) {
        tally.skip();
        continue;
      }
      const held = racks.filter((rack) => isHeld(rack, knows)).length;
      tally.compare(held >= need, completedUs, () => {
        const holders = racks.flatMap(({ members, others }) => [...members, ...others].filter(knows));
        return `${describeRedis(record)}: answered while the flush was durable in ${held} of ${need} promised racks of ${datacenter} (on ${holders.join(' ') || 'no disk'})`;
      });
    }
  }
  return tally.report();
}

function isFlush({ kind, amount }: RedisRecord): boolean {
  return kind === 'flushall' || (kind === 'database' && databaseActOf({ amount }, false).kind === 'flush');
}

function isHeld({ members, others }: FlushRack, knows: (node: string) => boolean): boolean {
  return members.length > 0 ? members.every(knows) : others.some(knows);
}
