/**
 * Equations of failure causes: each failure is counted once, at the node that answered the client. Also lists the
 * metrics that stay 0 while nothing goes wrong. The bounds allow for requests whose connection ended before their
 * answer.
 */
import type { IncarnationAccount, RedisTruth } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal, sumOf, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** Error codes of requests whose consistency level was not met. */
const unmetCodes: readonly string[] = ['NoQuorum', 'Timeout', 'ReplicasDisagree'];
/** Largest number of keys in one Redis command of the simulator's clients. */
const keysAtOnceMax = 16;
/** Counters that stay at 0 while nothing goes wrong. */
const silentPool: readonly string[] = [
  'server_ejects',
  'peer_timedout_requests',
  'remote_peer_timedout_requests',
  'peer_timedout',
  'remote_peer_timedout',
  'peer_mismatch_requests',
  'forward_error',
];
const silentServer: readonly string[] = [
  'server_err',
  'server_timedout',
  'server_timedout_requests',
  'server_dropped_requests',
];
const silentFamilies: readonly string[] = [
  'dispatch_peer_send_full_total',
  'dispatch_backend_send_full_total',
  'dispatch_backend_send_closed_total',
  'svc_peer_inbound_overloaded_total',
  'svc_gossip_rejected_total',
  'svc_store_damages_total',
];
/**
 * Counters that stay 0 until the ring has changed in the node's view: owners change in steps, and keys move after the
 * first step.
 */
const unmovedFamilies: readonly string[] = [
  'svc_transfer_keys_total',
  'svc_transfer_bytes_total',
  'svc_transfer_ranges_left',
  'svc_ring_change_held_seconds',
  'svc_transfer_keys_dropped_total',
];
/** Counters of bugs: always 0. */
const neverCounted: readonly string[] = [
  'svc_assertions_failed_total',
  'svc_peer_answers_doubled_total',
  // Not a bug, but the clients of these runs never cause it; engine/real/http.test.ts and the sessions' tests do.
  'svc_client_requests_refused_total',
];

/** The claims about the failure metrics of one account. */
export function causeEquations(numbers: Numbers, account: IncarnationAccount): readonly Claim[] {
  const { truth } = account;
  return [
    ...failureEquations(numbers, truth),
    equal('svc_task_failures_total', numbers.sum('svc_task_failures_total'), truth.failedTasks),
    upTo(
      'svc_auth_failures_total',
      numbers.sum('svc_auth_failures_total'),
      turnedAway(truth),
      truth.clients.guesses + truth.listener.guesses,
    ),
    // No client of the stats listener has a credential with a rate.
    equal(
      'svc_rate_limited_total',
      numbers.sum('svc_rate_limited_total'),
      truth.clients.rateLimited + truth.redis.rateLimited,
    ),
    // The world's ports have no TLS; tests on real machines cover its failures.
    equal('svc_tls_handshake_failures_total', numbers.sum('svc_tls_handshake_failures_total'), 0),
    ...neverCounted.map((family) => equal(family, numbers.sum(family), 0)),
    ...(truth.undisturbed ? silence(numbers, truth) : []),
    // A write leaves a hint for a pending owner to which this node has no link yet.
    ...(truth.undisturbed && truth.ringChanges === 0 ? hintsWithoutFaults(numbers, truth.redis.flushes) : []),
    // A leaving member is called LEAVING and then DOWN, and finally refuses transactions; a member refuses those on keys
    // that are changing hands. That is no fault; other equations cover it.
    ...(truth.undisturbed && !truth.moving
      ? [
          quiet('ring_changes_total', numbers),
          quiet('dispatch_no_targets_total', numbers),
          isNone('peer_ejects', numbers.pool('peer_ejects')),
          isNone('client_dropped_requests', numbers.pool('client_dropped_requests')),
        ]
      : []),
    ...(truth.undisturbed && truth.ringChanges === 0
      ? [...unmovedFamilies.map((family) => quiet(family, numbers)), ...waitsOf(numbers, truth)]
      : []),
  ];
}

/** Compares each cause with the answers of all listeners: a failure is counted at the node that answers. */
function failureEquations(
  numbers: Numbers,
  { clients, redis }: IncarnationAccount['truth'],
): readonly Claim[] {
  const { ended } = clients.transactions;
  const told = (codes: readonly string[], ends: readonly string[], words: readonly string[]): Failures => ({
    reads: sumOf(clients.getErrors, codes) + sumOf(redis.readErrors, words),
    writes: sumOf(clients.writeErrors, codes) + sumOf(ended, ends) + sumOf(redis.writeErrors, words),
  });
  const noTargets = told(['NoTargets'], ['no_targets'], ['NOTARGETS']);
  const late = ['TIMEOUT', 'ABORTED prepare_timeout', 'ABORTED timeout', 'ABORTED read_timeout'];
  const short = ['NOQUORUM', 'ABORTED no_quorum', 'ABORTED read_no_quorum'];
  const timeouts = told(['Timeout'], ['prepare_timeout'], late);
  const unmet = told(unmetCodes, ['prepare_timeout'], [...late, ...short, 'REPLICASDISAGREE']);
  const { abandonedGets, abandonedWrites } = clients;
  const unseen = abandonedGets + abandonedWrites;
  const byCause = (what: string, { reads, writes }: Failures): Claim =>
    upTo(what, numbers.sum(what), reads + writes, unseen);
  return [
    byCause('dispatch_response_timeout_total', timeouts),
    byCause('dispatch_no_targets_total', noTargets),
    upTo(
      'client_non_quorum_r_responses',
      numbers.pool('client_non_quorum_r_responses'),
      unmet.reads,
      abandonedGets,
    ),
    upTo(
      'client_non_quorum_w_responses',
      numbers.pool('client_non_quorum_w_responses'),
      unmet.writes,
      abandonedWrites,
    ),
    // A Redis command that fails on several keys has one answer; a failed expiry has none.
    between(
      'forward_error',
      numbers.pool('forward_error'),
      0,
      noTargets.reads + noTargets.writes + unseen + unseenOfRedis(redis),
    ),
  ];
}

/** The answers that report one cause. */
interface Failures {
  readonly reads: number;
  readonly writes: number;
}

/** No member moves; but a joining node waits until members know it, and for nothing else. */
function waitsOf(numbers: Numbers, { joins, peersMax }: IncarnationAccount['truth']): readonly Claim[] {
  const family = 'svc_transfer_waits_for';
  const members = numbers.sum(family, { what: 'members' });
  return [
    between(`${family} members, while nobody moves`, members, 0, joins ? peersMax : 0),
    isNone(`${family} anything else`, numbers.sum(family) - members),
  ];
}

/**
 * Redis commands whose failure may stand for failures on many keys; the failures of the expiry reaper have no answer.
 */
export function unseenOfRedis({ mortal, abandoned, errors }: RedisTruth): number {
  return mortal ? Infinity : keysAtOnceMax * (errors + abandoned);
}

/**
 * A denied request is answered as soon as it is counted, except for unknown tokens over HTTP and answers that wait for
 * earlier requests.
 */
function turnedAway({ clients, redis, listener }: IncarnationAccount['truth']): number {
  return clients.turnedAway + redis.turnedAway + listener.turnedAway;
}

/** Answers of Redis commands whose read of a key has taken too long. */
const lateReads: readonly string[] = ['TIMEOUT', 'ABORTED read_timeout'];
/** Those whose read of a key at a SAFE level was refused. */
const disagreements: readonly string[] = [
  'REPLICASDISAGREE',
  'ABORTED replicas_disagree',
  'ABORTED read_replicas_disagree',
];

function silence(
  numbers: Numbers,
  { clients, redis, shortReadWait }: IncarnationAccount['truth'],
): readonly Claim[] {
  // A reader gives up on a key whose transaction outlasts `transaction_read_wait_ms`.
  const late = shortReadWait
    ? sumOf(clients.getErrors, ['Timeout']) +
      sumOf(redis.readErrors, lateReads) +
      sumOf(redis.writeErrors, lateReads)
    : 0;
  const timeouts = 'dispatch_response_timeout_total';
  const refused = numbers.sum('svc_read_disagreements_total', { outcome: 'refused' });
  // One refused read may stand for several commands of a pipeline, and an MGET for several refused reads.
  const disagreed = sumOf(redis.readErrors, disagreements) + sumOf(redis.writeErrors, disagreements);
  return [
    ...silentPool.map((field) => isNone(field, numbers.pool(field))),
    // Copies differ while a write is in progress, and a read at a SAFE level is then refused: a client's, or the one
    // that a client's conditional write or Redis command begins with. A transaction that was decided before a flush is
    // refused by the replicas that know of the flush, so its level is not met.
    between(
      'client_non_quorum_r_responses and client_non_quorum_w_responses but for disagreements, with no fault injected',
      numbers.pool('client_non_quorum_r_responses') + numbers.pool('client_non_quorum_w_responses') - refused,
      disagreed > 0 ? -refused : 0,
      late + Math.max(0, disagreed - 1) + (redis.flushes ? sumOf(redis.writeErrors, ['NOQUORUM']) : 0),
    ),
    between(`${timeouts}, with no fault injected`, numbers.sum(timeouts), 0, late),
    ...silentServer.map((field) => isNone(field, numbers.server(field))),
    ...silentFamilies.map((family) => quiet(family, numbers)),
  ];
}

/**
 * No write misses a replica. A write that was decided before a flush is refused by a replica that has heard of the flush
 * sooner than its coordinator, which then keeps a hint until it hears of it, too: such a hint expires.
 */
function hintsWithoutFaults(numbers: Numbers, flushes: boolean): readonly Claim[] {
  if (!flushes) return [quiet('svc_hints_total', numbers)];
  return ['delivered', 'handed_on', 'dropped'].map((outcome) =>
    isNone(`svc_hints_total of ${outcome}`, numbers.sum('svc_hints_total', { outcome })),
  );
}

function quiet(family: string, numbers: Numbers): Claim {
  return isNone(family, numbers.sum(family));
}

function isNone(name: string, value: number): Claim {
  return equal(`${name}, with no fault injected`, value, 0);
}
