/**
 * The observers through which the client listeners, the store driver and the peer plane count their work. Each method
 * counts one event. This file knows only which field an event belongs to, and whether a peer is in this datacenter and
 * rack.
 */
import type { ClientObserver } from '../api/client-observer.ts';
import type { Io } from '../io/io.ts';
import type { NodeId } from '../base/ids.ts';
import { RequestTimes } from '../base/request-times.ts';
import { countCause } from '../replication/failure-causes.ts';
import type { ConsistencyLevel } from '../replication/requests.ts';
import type { PeerObserver } from '../peer/observer.ts';
import type { PeerTarget } from '../peer/options.ts';
import type { Plane } from '../peer/plane.ts';
import type { FamilySource } from '../metrics/family.ts';
import { counterBy } from '../metrics/family.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { SlowRequests } from './slow-requests.ts';
import type { Tracer } from './tracer.ts';
import { endRequest } from './tracer.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { StoreObserver } from '../storage/observer.ts';
import { PeerFailures } from './peer-failures.ts';

/** The node's place, and the consistency levels that a client's request is counted under if it names none. */
export interface ClientTerms extends Place {
  readonly readLevel: ConsistencyLevel;
  readonly writeLevel: ConsistencyLevel;
}

/**
 * Counts the work of client listeners, logs slow requests, and traces sampled ones. Several listeners may share one
 * observer.
 */
export function countClients(
  stats: NodeStats,
  terms: ClientTerms,
  slow?: SlowRequests,
  tracer?: Tracer,
): ClientObserver {
  const { pool } = stats;
  return {
    opened: () => {
      pool.client_connections += 1;
    },
    closed: (cause) => {
      pool.client_connections -= 1;
      if (cause === 'eof') pool.client_eof += 1;
      if (cause === 'error') pool.client_err += 1;
    },
    received: (purpose) => {
      if (purpose === 'read') pool.client_read_requests += 1;
      else pool.client_write_requests += 1;
    },
    timesOf: (startUs, headers) => {
      const span = tracer?.begin(startUs, headers?.['traceparent']);
      return span === undefined ? slow?.timesOf(startUs) : new RequestTimes(startUs, span);
    },
    answered: (latencyUs, protocol, operation, times, requestId) => {
      if (times !== undefined) {
        slow?.answered(latencyUs, protocol, operation, times, requestId);
        const { span, startUs } = times;
        if (span !== undefined) endRequest(span, startUs + latencyUs, protocol, operation, times, requestId);
      }
      stats.requestLatencyUs.record(latencyUs);
      stats.requestDurations.record(latencyUs, protocol, operation);
    },
    dropped: () => {
      pool.client_dropped_requests += 1;
    },
    failed: () => {
      pool.client_err += 1;
    },
    caused: (code, purpose, level) => {
      const { readLevel, writeLevel } = terms;
      countCause(
        { stats, self: terms },
        code,
        purpose,
        level ?? (purpose === 'read' ? readLevel : writeLevel),
      );
    },
    payload: (bytes) => stats.payloadBytes.record(bytes),
    fragmented: (count) => {
      pool.fragments += count;
    },
    outQueue: (length) => stats.clientOutQueue.record(length),
  };
}

/** Counts the work of the store driver. */
export function countStore(stats: NodeStats, io: Pick<Io, 'clock'>): StoreObserver {
  const { pool, server, failures } = stats;
  return {
    readRequested: (bytes, inQueue) => {
      stats.serverInQueue.record(inQueue);
      server.read_requests += 1;
      server.read_request_bytes += bytes;
    },
    readAnswered: (bytes, latencyUs) => {
      server.read_responses += 1;
      server.read_response_bytes += bytes;
      stats.serverLatencyUs.record(latencyUs);
    },
    writeRequested: (bytes, inQueue) => {
      stats.serverInQueue.record(inQueue);
      server.write_requests += 1;
      server.write_request_bytes += bytes;
    },
    writeAnswered: (bytes, latencyUs) => {
      server.write_responses += 1;
      server.write_response_bytes += bytes;
      stats.serverLatencyUs.record(latencyUs);
    },
    queueWaited: (waitUs, outQueue) => {
      stats.serverQueueWaitUs.record(waitUs);
      stats.serverOutQueue.record(outQueue);
    },
    requestDropped: (outcome) => {
      server.server_dropped_requests += 1;
      if (outcome === 'full') failures.backendSendFull();
      else failures.backendSendClosed();
    },
    operationFailed: () => {
      server.server_err += 1;
    },
    requestTimedOut: () => {
      server.server_timedout_requests += 1;
    },
    driverTimedOut: () => {
      server.server_timedout += 1;
    },
    ejected: () => {
      server.server_ejected_at = io.clock.wallMs() * 1000;
      pool.server_ejects += 1;
    },
    closed: () => {
      server.server_eof += 1;
    },
  };
}

/** This node's datacenter and rack. */
export interface Place {
  readonly datacenter: string;
  readonly rack: string;
}

/** Counts the work of the peer plane, by datacenter and rack. Calls `onLinked` when a link to a peer has come up. */
export function countPeers(stats: NodeStats, place: Place, onLinked: (node: NodeId) => void): PeerObserver {
  const { pool } = stats;
  const { datacenter, rack } = place;
  const trouble = new PeerFailures();
  for (const family of trouble.families) stats.register(family);
  const isLocal = (peer: Pick<PeerTarget, 'datacenter'>): boolean => peer.datacenter === datacenter;
  return {
    linkOpened: () => undefined,
    linkClosed: (peer, cause) => {
      if (cause === 'eof') pool.peer_eof += 1;
      if (cause === 'error') pool.peer_err += 1;
      if (cause === 'timedOut') countTimeout(peer);
    },
    connectFailed: (peer, failure) => {
      if (failure === 'timedOut') countTimeout(peer);
      else pool.peer_err += 1;
    },
    peerAdmitted: (peer) => onLinked(peer.node),
    peerEjected: () => undefined,
    peerRefused: (direction, reason) => trouble.refused(direction, reason),
    requestQueued: (peer, queued) => {
      if (isLocal(peer)) stats.peerInQueue.record(queued);
      else stats.remotePeerInQueue.record(queued);
    },
    requestSent: (peer, frameBytes, queueWaitUs, unanswered) => {
      if (isLocal(peer)) stats.peerOutQueue.record(unanswered);
      else stats.remotePeerOutQueue.record(unanswered);
      pool.peer_requests += 1;
      pool.peer_request_bytes += frameBytes;
      if (!isLocal(peer)) stats.crossRegionQueueWaitUs.record(queueWaitUs);
      else if (peer.rack !== rack) stats.crossZoneQueueWaitUs.record(queueWaitUs);
    },
    requestDropped: (peer) => {
      if (isLocal(peer)) pool.peer_dropped_requests += 1;
      else pool.remote_peer_dropped_requests += 1;
    },
    requestTimedOut: (peer) => {
      if (isLocal(peer)) pool.peer_timedout_requests += 1;
      else pool.remote_peer_timedout_requests += 1;
    },
    responseReceived: (peer, frameBytes, roundTripUs) => {
      pool.peer_responses += 1;
      pool.peer_response_bytes += frameBytes;
      if (!isLocal(peer)) stats.crossRegionLatencyUs.record(roundTripUs);
      else if (peer.rack !== rack) stats.crossZoneLatencyUs.record(roundTripUs);
    },
    responseMismatched: () => {
      pool.peer_mismatch_requests += 1;
    },
    inboundOpened: () => undefined,
    inboundClosed: (cause) => {
      if (cause === 'eof') pool.dnode_client_eof += 1;
      if (cause === 'error' || cause === 'timedOut') pool.dnode_client_err += 1;
    },
    answerQueued: (queued) => stats.dnodeClientOutQueue.record(queued),
    inboundOverloaded: () => trouble.overloaded(),
    answerDoubled: () => trouble.answerDoubled(),
    frameRejected: (direction, fault) => trouble.frameRejected(direction, fault),
  };

  function countTimeout(peer: PeerTarget): void {
    if (isLocal(peer)) pool.peer_timedout += 1;
    else pool.remote_peer_timedout += 1;
  }
}

/** Registers the gauges that each metrics snapshot reads from the store driver and the peer plane. */
export function provideGauges(stats: NodeStats, driver: StoreDriver, plane: Plane): void {
  stats.provideServerGauge('in_queue', () => driver.inQueue);
  stats.provideServerGauge('in_queue_bytes', () => driver.inQueueBytes);
  stats.provideServerGauge('out_queue', () => driver.outQueue);
  stats.provideServerGauge('out_queue_bytes', () => driver.outQueueBytes);
  // One pass over all connections yields all of these gauges.
  stats.providePoolReadings(() => {
    const { local, remote, ...gauges } = plane.gauges();
    return {
      peer_connections: gauges.outboundConnections,
      peer_in_queue: local.queued,
      peer_in_queue_bytes: local.queuedBytes,
      peer_out_queue: local.unanswered,
      peer_out_queue_bytes: local.unansweredBytes,
      remote_peer_in_queue: remote.queued,
      remote_peer_in_queue_bytes: remote.queuedBytes,
      remote_peer_out_queue: remote.unanswered,
      remote_peer_out_queue_bytes: remote.unansweredBytes,
      dnode_client_connections: gauges.inboundConnections,
      dnode_client_in_queue: gauges.inboundRequests,
      dnode_client_in_queue_bytes: gauges.inboundRequestBytes,
      dnode_client_out_queue: gauges.inboundAnswers,
      dnode_client_out_queue_bytes: gauges.inboundAnswerBytes,
    };
  });
  stats.provideMessagePool({
    allocated: () => plane.allocatedMessages,
    free: () => plane.freeMessages,
  });
  stats.provideChunkPool({
    allocated: () => plane.allocatedChunks,
    free: () => plane.freeChunks,
  });
}

/** Counts the TLS handshakes that failed before a connection existed, with clients and with peers. */
export function handshakeFamily({ failedHandshakes }: Pick<Io, 'failedHandshakes'>): FamilySource {
  return counterBy(
    'svc_tls_handshake_failures_total',
    'TLS handshakes that failed, with clients and with peers: plain text, no certificate or one not accepted.',
    'with',
    () => {
      const { clients, peers } = failedHandshakes();
      return { clients, peers };
    },
  );
}
