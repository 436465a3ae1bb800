/**
 * Equations of the peer plane, compared with the wire. Where only the node knows a number, they compare its metrics
 * with each other: on the wire, a timed-out request shows only as silence, and the reason why the node ended a
 * connection does not show at all.
 */
import type { AskingTruth, IncarnationAccount, LinkTruth, RefusalTruth } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

const frameBytesMin = 24;
/** Largest number of bytes around a gossip message in its frame's body. */
const wordsHeadBytesMax = 6;

/** The claims about the peer metrics of one account. */
export function peerEquations(numbers: Numbers, account: IncarnationAccount): readonly Claim[] {
  const { beside, near, far } = account.truth;
  const local = addUp(beside, near);
  const all = addUp(local, far);
  return [
    ...connectionEquations(numbers, account, local, far),
    ...requestEquations(numbers, local, far, all, account.truth),
    ...poolEquations(numbers),
    ...histogramEquations(numbers, account, local),
    ...gossipEquations(numbers, account, all),
    ...refusalEquations(numbers, account.truth.refusals),
  ];
}

function connectionEquations(
  numbers: Numbers,
  { truth: { asked } }: IncarnationAccount,
  local: AskingTruth,
  far: AskingTruth,
): readonly Claim[] {
  const all = addUp(local, far);
  const localTimeouts = local.timedOut + local.timedOutConnects;
  const farTimeouts = far.timedOut + far.timedOutConnects;
  const errors = all.reset + all.broken + all.refusedConnects;
  const causes = ['peer_err', 'peer_timedout', 'remote_peer_timedout'].map((field) => numbers.pool(field));
  const rejected = 'svc_peer_frames_rejected_total';
  const refused = numbers.sum('svc_peer_handshakes_refused_total');
  return [
    equal('peer_connections', numbers.poolGauge('peer_connections'), all.open),
    equal('dnode_client_connections', numbers.poolGauge('dnode_client_connections'), asked.open),
    equal('peer_eof', numbers.pool('peer_eof'), all.ended),
    upTo('peer_err', numbers.pool('peer_err'), errors, all.left),
    upTo('peer_timedout', numbers.pool('peer_timedout'), localTimeouts, local.left),
    upTo('remote_peer_timedout', numbers.pool('remote_peer_timedout'), farTimeouts, far.left),
    upTo('peer_err + peer_timedout', sum(causes), errors + localTimeouts + farTimeouts, all.left),
    equal('dnode_client_eof', numbers.pool('dnode_client_eof'), asked.ended),
    upTo(
      'dnode_client_err',
      numbers.pool('dnode_client_err'),
      asked.reset + asked.broken + asked.timedOut,
      asked.left,
    ),
    between(
      'svc_peer_handshakes_refused_total',
      refused,
      0,
      overCount(all) + overCount(asked) + all.open + asked.open,
    ),
    equal(`${rejected}, outbound`, numbers.sum(rejected, { direction: 'outbound' }), all.rejected),
    equal(`${rejected}, inbound`, numbers.sum(rejected, { direction: 'inbound' }), asked.rejected),
  ];
}

function requestEquations(
  numbers: Numbers,
  local: AskingTruth,
  far: AskingTruth,
  all: AskingTruth,
  { asked, refusals }: Pick<IncarnationAccount['truth'], 'asked' | 'refusals'>,
): readonly Claim[] {
  const handled = numbers.poolGauge('dnode_client_in_queue') + numbers.poolGauge('dnode_client_out_queue');
  const mismatched = numbers.pool('peer_mismatch_requests');
  const localTimeouts = numbers.pool('peer_timedout_requests');
  const farTimeouts = numbers.pool('remote_peer_timedout_requests');
  const responses = numbers.pool('peer_responses');
  const bytes = numbers.pool('peer_response_bytes');
  return [
    equal('peer_requests', numbers.pool('peer_requests'), all.requests),
    equal('peer_request_bytes', numbers.pool('peer_request_bytes'), all.requestBytes),
    equal('peer_responses + peer_mismatch_requests', responses + mismatched, all.answers + all.strayAnswers),
    // An answer after its deadline counts as an answer on the wire, but not at the node.
    upTo('peer_mismatch_requests', mismatched, all.strayAnswers, localTimeouts + farTimeouts),
    between('peer_response_bytes', bytes, mismatched === 0 ? all.answerBytes : 0, all.answerBytes),
    ...unanswered(numbers, 'peer_out_queue', local, localTimeouts),
    ...unanswered(numbers, 'remote_peer_out_queue', far, farTimeouts),
    // Only the dispatcher knows which racks a key prefers (engine/replication/read-round.test.ts counts them). It counts
    // a request before the plane takes it, or has no link for it.
    between(
      'remote_peer_failover_requests',
      numbers.pool('remote_peer_failover_requests'),
      0,
      far.requests + refusals.remote,
    ),
    // A peer's request is handled, or its answer waits; a paused stream has not delivered all of its input.
    between('dnode_client_in_queue + dnode_client_out_queue', handled, 0, asked.underWay),
    ...queueBytes(numbers),
  ];
}

/**
 * Requests that were never sent: all of them by datacenter; the dispatcher's by cause and peer, because gossip and
 * hints are retried.
 */
function refusalEquations(numbers: Numbers, truth: RefusalTruth): readonly Claim[] {
  const { local, remote, contradicted } = truth;
  return [
    equal('peer_dropped_requests', numbers.pool('peer_dropped_requests'), local),
    equal('remote_peer_dropped_requests', numbers.pool('remote_peer_dropped_requests'), remote),
    equal('requests turned away against what the wire shows', contradicted, 0),
    ...causeEquations(numbers, 'full', truth),
    ...causeEquations(numbers, 'closed', truth),
  ];
}

function causeEquations(
  numbers: Numbers,
  outcome: 'full' | 'closed',
  { byPeer, indexes }: RefusalTruth,
): readonly Claim[] {
  const family = `dispatch_peer_send_${outcome}_total`;
  const told = Object.entries(byPeer).filter(([name]) => name.startsWith(`${outcome} `));
  const all = sum(told.map(([, count]) => count));
  const known = Object.entries(indexes).map(([index, { peer, datacenter }]) => {
    const counted = numbers.sum(family, { peer_idx: Number(index), peer_dc: datacenter });
    return equal(`${family} of ${peer}`, counted, byPeer[`${outcome} ${peer}`] ?? 0);
  });
  return [equal(family, numbers.sum(family), all), ...known];
}

/** Requests sent and not answered on the wire, less those that the node has given up. */
function unanswered(numbers: Numbers, gauge: string, truth: AskingTruth, timedOut: number): readonly Claim[] {
  const bytes = numbers.poolGauge(`${gauge}_bytes`);
  return [
    between(gauge, numbers.poolGauge(gauge), Math.max(0, truth.unanswered - timedOut), truth.unanswered),
    between(`${gauge}_bytes`, bytes, timedOut === 0 ? truth.unansweredBytes : 0, truth.unansweredBytes),
  ];
}

/** A queue has bytes exactly when it has frames, and each frame has at least its header's bytes. */
function queueBytes(numbers: Numbers): readonly Claim[] {
  const queues = ['peer_in_queue', 'remote_peer_in_queue', 'dnode_client_in_queue', 'dnode_client_out_queue'];
  return queues.map((name) => {
    const frames = numbers.poolGauge(name);
    const bytes = numbers.poolGauge(`${name}_bytes`);
    return between(`${name}_bytes`, bytes, frames * frameBytesMin, frames === 0 ? 0 : Infinity);
  });
}

/** Each request record is queued, in progress or free. */
function poolEquations(numbers: Numbers): readonly Claim[] {
  const fields = ['peer_in_queue', 'peer_out_queue', 'remote_peer_in_queue', 'remote_peer_out_queue'];
  const held = sum(fields.map((field) => numbers.poolGauge(field)));
  const inUse = numbers.sum('svc_alloc_msgs') - numbers.sum('svc_free_msgs');
  const chunks = numbers.sum('svc_alloc_mbufs') - numbers.sum('svc_free_mbufs');
  return [
    equal('svc_alloc_msgs - svc_free_msgs', inUse, held),
    between('svc_alloc_mbufs - svc_free_mbufs', chunks, 0, Infinity),
  ];
}

function histogramEquations(
  numbers: Numbers,
  { truth: { near, far, asked } }: IncarnationAccount,
  local: AskingTruth,
): readonly Claim[] {
  const late = numbers.pool('peer_mismatch_requests');
  const answered = (histogram: string, truth: AskingTruth): Claim =>
    between(`requests of ${histogram}`, numbers.recorded(histogram), truth.answers - late, truth.answers);
  const sent = (histogram: string, truth: AskingTruth): Claim =>
    equal(`requests of ${histogram}`, numbers.recorded(histogram), truth.requests);
  return [
    answered('crossZoneLatencyUs', near),
    answered('crossRegionLatencyUs', far),
    sent('crossZoneQueueWaitUs', near),
    sent('crossRegionQueueWaitUs', far),
    sent('peerOutQueue', local),
    sent('remotePeerOutQueue', far),
    queued('peerInQueue', numbers, 'peer_in_queue', local.requests, local),
    queued('remotePeerInQueue', numbers, 'remote_peer_in_queue', far.requests, far),
    queued('dnodeClientOutQueue', numbers, 'dnode_client_out_queue', asked.answersWritten, asked),
  ];
}

/** A queued frame was written, still waits, or was dropped: given up, or with its connection. */
function queued(
  histogram: string,
  numbers: Numbers,
  gauge: string,
  written: number,
  links: LinkTruth,
): Claim {
  const timedOut = numbers.pool('peer_timedout_requests') + numbers.pool('remote_peer_timedout_requests');
  const waiting = numbers.poolGauge(gauge);
  const seen = timedOut === 0 && overCount(links) === 0 ? written + waiting : written;
  const most = timedOut === 0 && overCount(links) === 0 ? seen : Infinity;
  return between(`entries of ${histogram}`, numbers.recorded(histogram), seen, most);
}

/**
 * A gossip message is counted when it is requested. If it was rejected, given up in the queue, or queued on a link that
 * broke, it was never written.
 */
function gossipEquations(
  numbers: Numbers,
  { truth: { asked } }: IncarnationAccount,
  all: AskingTruth,
): readonly Claim[] {
  const written = all.gossip + asked.gossip;
  const calm = overCount(all) + overCount(asked) + numbers.pool('peer_dropped_requests') === 0;
  const queues = ['peer_in_queue', 'remote_peer_in_queue', 'dnode_client_out_queue'];
  const waiting = sum(queues.map((field) => numbers.poolGauge(field)));
  const givenUp = numbers.pool('peer_timedout_requests') + numbers.pool('remote_peer_timedout_requests');
  const counted = numbers.sum('svc_gossip_messages_total');
  const bytes = numbers.sum('svc_gossip_bytes_total');
  const bodyBytes = all.gossipBytes + asked.gossipBytes;
  const seen = calm && counted === written;
  return [
    upTo('svc_gossip_messages_total', counted, written, calm ? waiting + givenUp : Infinity),
    between(
      'svc_gossip_bytes_total',
      bytes,
      bodyBytes - written * wordsHeadBytesMax,
      seen ? bodyBytes : Infinity,
    ),
  ];
}

function overCount({ ended, reset, timedOut, left, broken }: LinkTruth): number {
  return ended + reset + timedOut + left + broken;
}

function addUp(one: AskingTruth, other: AskingTruth): AskingTruth {
  const added: { -readonly [Name in keyof AskingTruth]: number } = { ...one };
  for (const name of Object.keys(one) as (keyof AskingTruth)[]) added[name] += other[name];
  return added;
}

function sum(values: readonly number[]): number {
  return values.reduce((left, right) => left + right, 0);
}
