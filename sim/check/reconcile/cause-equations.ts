/**
 * Failure causes against the answers that clients got, each counted once at the node that gave the answer; and what
 * stays 0 while nothing goes wrong. Room: requests whose connection was over before their answer.
 */
import type { IncarnationAccount, RedisTruth } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal, sumOf, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

/** Errors of requests whose level was not met. */
const unmetCodes: readonly string[] = ['NoQuorum', 'Timeout', 'ReplicasDisagree'];
/** Keys that one Redis command of these runs names at most. */
const keysAtOnceMax = 16;
/** Counters that stay at 0 while nothing goes wrong. */
const silentPool: readonly string[] = [
  'client_non_quorum_w_responses',
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
  'dispatch_no_targets_total',
  'dispatch_peer_send_full_total',
  'dispatch_backend_send_full_total',
  'dispatch_backend_send_closed_total',
  'dispatch_response_timeout_total',
  'svc_peer_inbound_overloaded_total',
  'svc_gossip_rejected_total',
  'svc_store_damages_total',
];
/** Counters that stay at 0 until the ring, as the node sees it, has changed: owners change in steps, keys move after the first. */
const unmovedFamilies: readonly string[] = [
  'svc_transfer_keys_total',
  'svc_transfer_bytes_total',
  'svc_transfer_ranges_left',
  'svc_ring_change_held_seconds',
  'svc_transfer_keys_dropped_total',
];
/** Bugs, whatever goes wrong. */
const neverCounted: readonly string[] = [
  'svc_peer_answers_doubled_total',
  // Not a bug, but beyond what the clients of these runs send: engine/real/http.test.ts and the sessions' tests refuse.
  'svc_client_requests_refused_total',
];

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
    // The world's doors know no TLS: what it would refuse, machines' tests let it refuse.
    equal('svc_tls_handshake_failures_total', numbers.sum('svc_tls_handshake_failures_total'), 0),
    ...neverCounted.map((family) => equal(family, numbers.sum(family), 0)),
    ...(truth.undisturbed ? silence(numbers) : []),
    // A member that leaves is called LEAVING, and then DOWN, and refuses transactions at the end; that is no fault. What
    // it counts as is equated elsewhere.
    ...(truth.undisturbed && !truth.moving
      ? [
          quiet('ring_changes_total', numbers),
          isNone('peer_ejects', numbers.pool('peer_ejects')),
          isNone('client_dropped_requests', numbers.pool('client_dropped_requests')),
        ]
      : []),
    ...(truth.undisturbed && truth.ringChanges === 0
      ? [...unmovedFamilies.map((family) => quiet(family, numbers)), ...waitsOf(numbers, truth)]
      : []),
  ];
}

/** Each cause against the answers of all listeners, whatever was asked: a failure is counted where it is answered. */
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
  const late = ['TIMEOUT', 'ABORTED prepare_timeout'];
  const timeouts = told(['Timeout'], ['prepare_timeout'], late);
  const unmet = told(unmetCodes, ['prepare_timeout'], [...late, 'NOQUORUM', 'REPLICASDISAGREE']);
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
    // Of a Redis command that fails on several keys, or of a value that expires, one answer or none is told.
    between(
      'forward_error',
      numbers.pool('forward_error'),
      0,
      noTargets.reads + noTargets.writes + unseen + unseenOfRedis(redis),
    ),
  ];
}

/** Answers that tell of one cause. */
interface Failures {
  readonly reads: number;
  readonly writes: number;
}

/** Nobody moves; but who is on its way in waits for members to know it, and for nothing else. */
function waitsOf(numbers: Numbers, { joins, peersMax }: IncarnationAccount['truth']): readonly Claim[] {
  const family = 'svc_transfer_waits_for';
  const members = numbers.sum(family, { what: 'members' });
  return [
    between(`${family} members, while nobody moves`, members, 0, joins ? peersMax : 0),
    isNone(`${family} anything else`, numbers.sum(family) - members),
  ];
}

/** Redis commands whose failures may each stand for failures on many keys; the reaper's nobody hears of. */
export function unseenOfRedis({ mortal, abandoned, errors }: RedisTruth): number {
  return mortal ? Infinity : keysAtOnceMax * (errors + abandoned);
}

/** Who may not is answered as soon as it is counted, but for guesses of tokens over HTTP, and answers owed to earlier requests. */
function turnedAway({ clients, redis, listener }: IncarnationAccount['truth']): number {
  return clients.turnedAway + redis.turnedAway + listener.turnedAway;
}

function silence(numbers: Numbers): readonly Claim[] {
  return [
    ...silentPool.map((field) => isNone(field, numbers.pool(field))),
    // Copies differ while a write is under way, and a SAFE level refuses to read them.
    isNone(
      'client_non_quorum_r_responses but for disagreements',
      numbers.pool('client_non_quorum_r_responses') -
        numbers.sum('svc_read_disagreements_total', { outcome: 'refused' }),
    ),
    ...silentServer.map((field) => isNone(field, numbers.server(field))),
    ...[...silentFamilies, 'svc_hints_total'].map((family) => quiet(family, numbers)),
  ];
}

function quiet(family: string, numbers: Numbers): Claim {
  return isNone(family, numbers.sum(family));
}

function isNone(name: string, value: number): Claim {
  return equal(`${name}, with no fault injected`, value, 0);
}
