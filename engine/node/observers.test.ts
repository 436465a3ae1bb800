/** Each observer counts an event in the codec field that it belongs to, and in no other. */
import { describe, expect, it } from 'vitest';

import { parseNodeId } from '../base/ids.ts';
import { present } from '../base/assert.ts';
import type { Clock } from '../io/clock.ts';
import type { NodeId } from '../base/ids.ts';
import type { PeerTarget } from '../peer/options.ts';
import { HISTOGRAMS } from '../metrics/histogram-table.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import { countMembership } from './membership-observer.ts';
import { countClients, countPeers, countStore } from './observers.ts';

const clock: Clock = { nowUs: () => 1, wallMs: () => 5, after: () => ({ cancel: () => undefined }) };
const here = { datacenter: 'dc1', rack: 'r1' };

function peer(name: string, datacenter: string, rack: string): PeerTarget {
  return { node: present(parseNodeId(name), name), address: '127.0.0.1:1', datacenter, rack, index: 1 };
}

const beside = peer('n2', 'dc1', 'r1');
const near = peer('n3', 'dc1', 'r2');
const far = peer('n4', 'dc2', 'r1');

/** All fields that are not zero. A histogram is shown as its count of values and the largest one. */
function counted(stats: NodeStats): Readonly<Record<string, number | string>> {
  const fields = [...Object.entries(stats.pool), ...Object.entries(stats.server)] as [string, number][];
  const histograms = HISTOGRAMS.filter(({ field }) => stats[field].count > 0).map(
    ({ field }): [string, string] => [field, `${stats[field].count}, max ${stats[field].rollup().max}`],
  );
  return Object.fromEntries<number | string>([...fields.filter(([, value]) => value !== 0), ...histograms]);
}

function peerSetting(): { stats: NodeStats; observer: ReturnType<typeof countPeers>; linked: NodeId[] } {
  const stats = new NodeStats();
  const linked: NodeId[] = [];
  return { stats, linked, observer: countPeers(stats, here, (node) => linked.push(node)) };
}

describe('the counts of the client listeners', () => {
  it('go into the fields of the pool', () => {
    const stats = new NodeStats();
    const observer = countClients(stats, { ...here, readLevel: 'DC_ONE', writeLevel: 'DC_QUORUM' });
    for (let count = 0; count < 4; count++) observer.opened();
    observer.closed('eof');
    observer.closed('error');
    observer.closed('closedHere');
    observer.received('read');
    observer.received('write');
    observer.received('write');
    observer.answered(30, 'http', 'get');
    observer.dropped();
    observer.failed();
    observer.payload(40);
    observer.outQueue(3);
    expect(counted(stats)).toEqual({
      client_connections: 1,
      client_eof: 1,
      client_err: 2,
      client_read_requests: 1,
      client_write_requests: 2,
      client_dropped_requests: 1,
      requestLatencyUs: '1, max 30',
      payloadBytes: '1, max 40',
      clientOutQueue: '1, max 3',
    });
  });
});

describe('the counts of the store driver', () => {
  it('go into the fields of the server, and an ejection into those of the pool, too', () => {
    const stats = new NodeStats();
    const observer = countStore(stats, { clock });
    observer.readRequested(10, 1);
    observer.readAnswered(11, 100);
    observer.writeRequested(20, 2);
    observer.writeAnswered(21, 200);
    observer.queueWaited(9, 3);
    observer.requestDropped('full');
    observer.operationFailed();
    observer.requestTimedOut();
    observer.driverTimedOut();
    observer.ejected();
    observer.closed();
    expect(counted(stats)).toEqual({
      read_requests: 1,
      read_request_bytes: 10,
      read_responses: 1,
      read_response_bytes: 11,
      write_requests: 1,
      write_request_bytes: 20,
      write_responses: 1,
      write_response_bytes: 21,
      server_dropped_requests: 1,
      server_err: 1,
      server_timedout_requests: 1,
      server_timedout: 1,
      server_eof: 1,
      server_ejects: 1,
      server_ejected_at: 5000,
      serverLatencyUs: '2, max 200',
      serverQueueWaitUs: '1, max 9',
      serverInQueue: '2, max 2',
      serverOutQueue: '1, max 3',
    });
  });
});

describe('the counts of the peer plane', () => {
  it('distinguish this datacenter from others, and this rack from others', () => {
    const { stats, observer } = peerSetting();
    for (const [index, target] of [beside, near, far].entries()) {
      observer.requestQueued(target, index + 1);
      observer.requestSent(target, 100, 10 + index, index + 4);
      observer.responseReceived(target, 50, 20 + index);
      observer.requestTimedOut(target, true);
      observer.requestDropped(target, 'full');
      observer.connectFailed(target, 'timedOut');
      observer.linkClosed(target, 'timedOut');
    }
    observer.answerQueued(7);
    observer.responseMismatched(near);
    expect(counted(stats)).toEqual({
      peer_requests: 3,
      peer_request_bytes: 300,
      peer_responses: 3,
      peer_response_bytes: 150,
      peer_timedout_requests: 2,
      remote_peer_timedout_requests: 1,
      peer_dropped_requests: 2,
      remote_peer_dropped_requests: 1,
      peer_timedout: 4,
      remote_peer_timedout: 2,
      peer_mismatch_requests: 1,
      crossZoneLatencyUs: '1, max 21',
      crossRegionLatencyUs: '1, max 22',
      crossZoneQueueWaitUs: '1, max 11',
      crossRegionQueueWaitUs: '1, max 12',
      peerInQueue: '2, max 2',
      remotePeerInQueue: '1, max 3',
      peerOutQueue: '2, max 5',
      remotePeerOutQueue: '1, max 6',
      dnodeClientOutQueue: '1, max 7',
    });
  });

  it('record which side ended a connection, and which peers are reachable', () => {
    const { stats, observer, linked } = peerSetting();
    observer.peerAdmitted(near);
    observer.peerEjected(near);
    expect(linked).toEqual([near.node]);
    for (const cause of ['eof', 'error', 'closedHere'] as const) {
      observer.linkClosed(near, cause);
      observer.inboundClosed(cause);
    }
    observer.connectFailed(near, 'refused');
    expect(counted(stats)).toEqual({ peer_eof: 1, peer_err: 2, dnode_client_eof: 1, dnode_client_err: 1 });
  });
});

describe('the counts of membership', () => {
  function samplesOf(stats: NodeStats, name: string): readonly string[] {
    const families = [...stats.families, ...stats.failures.families, ...stats.failures.base];
    const family = present(
      families.find((one) => one.name === name),
      name,
    );
    return family.collect().map(({ labels, value }) => `${Object.values(labels).join(' ')}: ${value}`);
  }

  it('show every peer from the start, and each change of state once', () => {
    const stats = new NodeStats();
    const routable: NodeId[] = [];
    const observer = countMembership(stats, { clock }, (node) => routable.push(node));
    observer.appeared(near);
    expect(samplesOf(stats, 'peer_state_current')).toEqual(['1 dc1 r2: 0']);
    observer.moved(near, 'UNKNOWN', 'NORMAL');
    observer.moved(near, 'NORMAL', 'RESET');
    observer.moved(near, 'RESET', 'NORMAL');
    expect(counted(stats)).toEqual({});
    observer.moved(near, 'NORMAL', 'DOWN');
    observer.scored(near, 8001);
    expect(routable).toEqual([near.node, near.node]);
    expect(counted(stats)).toEqual({ peer_ejects: 1, peer_ejected_at: 5000 });
    expect(samplesOf(stats, 'peer_state_transitions_total')).toEqual([
      '1 UNKNOWN NORMAL: 1',
      '1 NORMAL RESET: 1',
      '1 RESET NORMAL: 1',
      '1 NORMAL DOWN: 1',
    ]);
    expect(samplesOf(stats, 'svc_peer_state')).toEqual(['n3 up: 0', 'n3 down: 1']);
    expect(samplesOf(stats, 'gossip_phi_score_milli')).toEqual(['1 dc1 r2: 8001']);
    observer.left(near);
    expect(samplesOf(stats, 'peer_state_current')).toEqual([]);
  });

  it('count gossip messages, their bytes, and rejected records', () => {
    const stats = new NodeStats();
    const observer = countMembership(stats, { clock }, () => undefined);
    observer.sent(100);
    observer.sent(50);
    observer.refused('sameName');
    observer.refused('malformed');
    expect(samplesOf(stats, 'svc_gossip_messages_total')).toEqual([': 2']);
    expect(samplesOf(stats, 'svc_gossip_bytes_total')).toEqual([': 150']);
    expect(samplesOf(stats, 'svc_gossip_rejected_total')).toEqual([
      'oldLife: 0',
      'sameName: 1',
      'duplicateToken: 0',
      'location: 0',
      'tokens: 0',
      'full: 0',
      'malformed: 1',
    ]);
  });
});
