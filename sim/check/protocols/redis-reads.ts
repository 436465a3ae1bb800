/**
 * The part of `quorum-intersection` (INV18) about GET and MGET of Redis clients, in pipelines of kind `sets`. None
 * fails for want of answers while no fault hinders the node that was asked and as many replicas of its datacenter as
 * must answer. No transaction writes these keys; a read of another key may have to wait for one whose coordinator is
 * hindered.
 *
 * Skipped: GETs through nodes that a fault may hinder.
 */
import { pipelineCommands } from '../../evidence/redis-pipelines.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import { describeRedis } from '../../evidence/redis.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** What Redis reads may rely on. */
export interface ReadTerms {
  /** By datacenter: replicas of a key that no fault may keep from answering in time, and how many must answer. */
  readonly datacenters: ReadonlyMap<string, { readonly able: number; readonly need: number }>;
  /** Nodes that a fault may hinder. */
  readonly hindered: ReadonlySet<string>;
}

/** How a read ends that too few replicas have answered. */
const lackOfAnswers = /^-?(?:NOQUORUM|TIMEOUT)\b/;

/** Checks every GET and MGET. `terms`: undefined if the plan does not tell which nodes a fault may hinder. */
export function checkRedisReads(records: readonly RedisRecord[], terms: ReadTerms | undefined): CheckReport {
  const tally = new Tally('quorum-intersection');
  if (terms === undefined) return tally.report();
  for (const record of records) {
    const { node, datacenter, completedUs } = record;
    const { able, need } = terms.datacenters.get(datacenter) ?? { able: 0, need: 1 };
    for (const failure of endsOfReads(record)) {
      if (terms.hindered.has(node) || able < need) tally.skip();
      else
        tally.compare(!lackOfAnswers.test(failure), completedUs, () => {
          return `${failure} although ${able} replicas can answer, and ${need} must: ${describeRedis(record)}`;
        });
    }
  }
  return tally.report();
}

/** How each GET and MGET of the operation ended: the text of the error, or none. */
function endsOfReads(record: RedisRecord): readonly string[] {
  const { kind, replies } = record;
  if (kind !== 'sets') return [];
  return pipelineCommands(record).flatMap((command, index) => {
    const reply = replies[index];
    if (command.kind === 'set' || reply === undefined) return [];
    return [reply.startsWith('-') ? reply : ''];
  });
}
