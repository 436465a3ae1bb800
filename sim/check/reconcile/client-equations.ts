/**
 * Clients against the wire. Equality, but for requests whose connection was over before their answer (`abandoned`):
 * the node counts how they ended, and nobody outside sees it; and for Redis commands behind others that the node need not
 * have taken (`held`).
 */
import type { ClientTruth, IncarnationAccount, RedisTruth } from './account.ts';
import { unseenOfRedis } from './cause-equations.ts';
import type { Claim } from './claims.ts';
import { between, equal, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** Errors that tell the state of an object, as the client asked. */
const outcomes: readonly string[] = ['PreconditionFailed', 'Conflict'];
const refusals: readonly string[] = ['Overloaded', 'NoTargets', 'ShuttingDown', 'Standby'];
const redisFields: readonly string[] = [
  ...[
    'get',
    'set',
    'del',
    'incr_decr',
    'keys',
    'mget',
    'scan',
    'sort',
    'lreqm',
    'sunion',
    'ping',
    'lists',
    'sets',
  ],
  ...['hashes', 'sortedsets', 'other'],
];
/** What a read at a SAFE level is refused with. */
const disagreement: readonly string[] = ['ReplicasDisagree'];
const unmet: readonly string[] = ['NoQuorum', 'Timeout', 'ReplicasDisagree'];

export function clientEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const { clients, redis, listener } = truth;
  const { puts, others, answers, transactions } = clients;
  const reading = clients.gets + transactions.questions;
  const writing = puts + clients.deletes + transactions.heard + transactions.resolutions;
  const abandoned = clients.abandonedGets + clients.abandonedWrites + redis.abandoned;
  const allErrors = sumOf(clients.errors, Object.keys(clients.errors)) - sumOf(clients.errors, outcomes);
  return [
    equal('client_connections', numbers.poolGauge('client_connections'), clients.open + redis.open),
    upTo(
      'client_read_requests',
      numbers.pool('client_read_requests'),
      reading + redis.reads,
      redis.held.reads,
    ),
    upTo(
      'client_write_requests',
      numbers.pool('client_write_requests'),
      writing + redis.writes,
      redis.held.writes,
    ),
    equal('client_eof', numbers.pool('client_eof'), clients.eof + redis.eof),
    upTo(
      'client_err',
      numbers.pool('client_err'),
      clients.broken + redis.broken + allErrors + redis.errors,
      abandoned + clients.guesses,
    ),
    upTo(
      'client_dropped_requests',
      numbers.pool('client_dropped_requests'),
      sumOf(clients.errors, refusals) + redis.refusals,
      abandoned,
    ),
    ...unmetEquations(numbers, clients, redis),
    upTo(
      'svc_read_disagreements_total, refused',
      numbers.sum('svc_read_disagreements_total', { outcome: 'refused' }),
      sumOf(clients.getErrors, disagreement) + sumOf(clients.writeErrors, disagreement),
      abandoned + unseenOfRedis(redis),
    ),
    upTo(
      'requests of the latency histogram',
      numbers.recorded('requestLatencyUs'),
      answers + redis.answers,
      abandoned,
    ),
    upTo(
      'requests of client_out_queue',
      numbers.recorded('clientOutQueue'),
      reading + writing + others + redis.commands,
      redis.held.commands,
    ),
    upTo(
      'values of the payload histogram',
      numbers.recorded('payloadBytes'),
      puts + transactions.operations + clients.valuesRead + redis.values,
      clients.abandonedGets + redis.abandoned === 0 ? redis.held.values : Infinity,
    ),
    equal('fragments', numbers.pool('fragments'), redis.fragments),
    ...redisFields.map((field) =>
      upTo(
        `redis_req_${field}`,
        numbers.server(`redis_req_${field}`),
        redis.fields[field] ?? 0,
        redis.held.fields[field] ?? 0,
      ),
    ),
    upTo('stats_count', numbers.pool('stats_count'), listener.answers, listener.guesses),
    equal('svc_stats_connections', numbers.sum('svc_stats_connections'), listener.open),
  ];
}

/** A deletion reads before it writes, so one that failed may stand under either. */
function unmetEquations(numbers: Numbers, clients: ClientTruth, redis: RedisTruth): readonly Claim[] {
  const reads = numbers.pool('client_non_quorum_r_responses');
  const writes = numbers.pool('client_non_quorum_w_responses');
  const unmetReads = sumOf(clients.getErrors, unmet);
  const unmetWrites = sumOf(clients.writeErrors, unmet);
  const { abandonedGets, abandonedWrites, deletes } = clients;
  const either = deletes === 0 ? 0 : unmetWrites + abandonedWrites;
  const shared = unseenOfRedis(redis);
  return [
    upTo(
      'non_quorum r + w',
      reads + writes,
      unmetReads + unmetWrites,
      abandonedGets + abandonedWrites + shared,
    ),
    upTo('client_non_quorum_r_responses', reads, unmetReads, abandonedGets + either + shared),
    between(
      'client_non_quorum_w_responses',
      writes,
      unmetWrites - either,
      unmetWrites + abandonedWrites + shared,
    ),
  ];
}

function sumOf(counts: Readonly<Record<string, number>>, codes: readonly string[]): number {
  return codes.reduce((sum, code) => sum + (counts[code] ?? 0), 0);
}
