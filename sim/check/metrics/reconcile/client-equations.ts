/**
 * Equations of client metrics, compared with the wire. They are equalities, with two exceptions: requests whose
 * connection ended before their answer (`abandoned`), because only the node knows their outcome; and Redis commands
 * behind others, which the node need not have started (`held`).
 */
import type { IncarnationAccount } from './account.ts';
import { unseenOfRedis } from './cause-equations.ts';
import type { Claim } from './claims.ts';
import { equal, sumOf, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** Error codes that report an object's state, as the client requested. */
const outcomes: readonly string[] = ['PreconditionFailed', 'Conflict'];
/**
 * Error codes of requests refused before any replica received them; and codes that mean so if the error is definite.
 */
const refusals: readonly string[] = ['Overloaded', 'NoTargets', 'ShuttingDown', 'Standby'];
const refusalsIfDefinite: readonly string[] = ['NoQuorum', 'Timeout', 'StorageFailed'];
const redisRefusals: readonly string[] = [
  ...['OVERLOADED', 'NOTARGETS', 'DISKFULL', 'SHUTTINGDOWN', 'STANDBY'],
  ...['ABORTED no_quorum', 'ABORTED timeout', 'ABORTED storage_failed'],
];
/** Redis error codes of reads that may be refusals: the protocol does not distinguish them. */
const redisMaybe: readonly string[] = ['NOQUORUM', 'TIMEOUT'];
/** Outcomes of failed transactions, by their answer; and those for which no branch was asked. */
const failedEnds: readonly string[] = ['prepare_failed', 'prepare_timeout', 'no_targets', 'disk_full'];
const refusedEnds: readonly string[] = ['no_targets', 'disk_full'];
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
/** Error codes of a refused read at a SAFE level. */
const disagreement: readonly string[] = ['ReplicasDisagree'];

/** What the claims about the client metrics need of an account. */
export interface ClientAccount {
  readonly truth: Pick<IncarnationAccount['truth'], 'clients' | 'redis' | 'listener'>;
}

/** The claims about the client metrics of one account. */
export function clientEquations(numbers: Numbers, { truth }: ClientAccount): readonly Claim[] {
  const { clients, redis, listener } = truth;
  const { puts, others, answers, transactions, errors, http } = clients;
  const reading = clients.gets + transactions.questions;
  const writing = puts + clients.deletes + transactions.heard + transactions.resolutions;
  const abandoned = clients.abandonedGets + clients.abandonedWrites + redis.abandoned;
  const allErrors = sumOf(errors, Object.keys(errors)) - sumOf(errors, outcomes);
  const failures = allErrors + sumOf(transactions.ended, failedEnds) + redis.errors;
  const redisErrors = [redis.readErrors, redis.writeErrors];
  const refused =
    sumOf(errors, refusals) +
    sumOf(clients.definiteErrors, refusalsIfDefinite) +
    sumOf(transactions.ended, refusedEnds) +
    redisErrors.reduce((sum, words) => sum + sumOf(words, redisRefusals), 0);
  return [
    equal('client_connections', numbers.poolGauge('client_connections'), clients.open + redis.open),
    upTo(
      'client_read_requests',
      numbers.pool('client_read_requests'),
      reading + http.gets + redis.reads,
      redis.held.reads,
    ),
    upTo(
      'client_write_requests',
      numbers.pool('client_write_requests'),
      writing + http.puts + http.deletes + redis.writes,
      redis.held.writes,
    ),
    equal('client_eof', numbers.pool('client_eof'), clients.eof + redis.eof),
    upTo(
      'client_err',
      numbers.pool('client_err'),
      clients.broken + redis.broken + failures,
      abandoned + clients.guesses,
    ),
    upTo(
      'client_dropped_requests',
      numbers.pool('client_dropped_requests'),
      refused,
      abandoned + sumOf(redis.readErrors, redisMaybe),
    ),
    upTo(
      'svc_read_disagreements_total, refused',
      numbers.sum('svc_read_disagreements_total', { outcome: 'refused' }),
      sumOf(clients.getErrors, disagreement) + sumOf(clients.writeErrors, disagreement),
      abandoned + unseenOfRedis(redis),
    ),
    upTo(
      'requests of the latency histogram',
      numbers.recorded('requestLatencyUs'),
      answers + http.answers + redis.answers,
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
      puts + http.puts + transactions.operations + clients.valuesRead + http.valuesRead + redis.values,
      clients.abandonedGets + redis.abandoned === 0 ? redis.held.values : Infinity,
    ),
    upTo('fragments', numbers.pool('fragments'), redis.fragments, redis.held.fragments),
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
