import { describe, expect, it } from 'vitest';

import { AntiEntropyMetrics } from './anti-entropy-metrics.ts';
import { FailureMetrics } from './failure-metrics.ts';
import type { FamilySource } from './family.ts';
import { LabelledFamily } from './labelled-family.ts';

/** `peer_idx=1 dc=dc1: 3` for each sample. */
function samplesOf(families: readonly FamilySource[], name: string): readonly string[] {
  const family = families.find((candidate) => candidate.name === name);
  if (family === undefined) throw new Error(`no family ${name}`);
  return family.collect().map(({ labels, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}=${text}`);
    return `${pairs.join(' ')}: ${value}`;
  });
}

describe('a labelled family', () => {
  const labels = ['a', 'b', 'c'];

  it('returns the same child for equal label values, and another one for others', () => {
    const family = new LabelledFamily({ name: 'x_total', help: 'X.', type: 'counter', labels });
    family.child('p', 'q', 'r').value += 1;
    family.child('p', 'q', 'r').value += 1;
    // Values that would coincide in a joined key are kept apart.
    family.child('p', 'qr', '').value += 1;
    family.child('p,b:q', 'r', '').value += 1;
    expect(family.collect().map(({ value }) => value)).toEqual([2, 1, 1]);
  });

  it('removes children of a gauge, never those of a counter', () => {
    const gauge = new LabelledFamily({ name: 'x', help: 'X.', type: 'gauge', labels });
    gauge.child(1, 'q').value = 7;
    gauge.child(2, 'q').value = 8;
    gauge.removeAll(1);
    expect(gauge.collect()).toEqual([{ labels: { a: 2, b: 'q', c: '' }, value: 8 }]);
    expect(gauge.child(1, 'q').value).toBe(0);
    const counter = new LabelledFamily({ name: 'x_total', help: 'X.', type: 'counter', labels });
    expect(() => counter.removeAll(1)).toThrow('stay');
  });
});

describe('the failure-cause families', () => {
  it('start at zero for labels known from the start', () => {
    const { families } = new FailureMetrics();
    expect(samplesOf(families, 'dispatch_backend_send_full_total')).toEqual([': 0']);
    expect(samplesOf(families, 'dispatch_response_timeout_total')).toEqual([
      'consistency_level=DC_ONE: 0',
      'consistency_level=DC_QUORUM: 0',
      'consistency_level=DC_SAFE_QUORUM: 0',
      'consistency_level=DC_EACH_SAFE_QUORUM: 0',
    ]);
  });

  it('count each cause in its own family', () => {
    const failures = new FailureMetrics();
    failures.noTargets('dc1', 'r1', 'DC_ONE');
    failures.peerSendFull(3, 'dc2');
    failures.peerSendClosed(3, 'dc2');
    failures.peerSendClosed(3, 'dc2');
    failures.backendSendFull();
    failures.backendSendClosed();
    failures.responseTimeout('DC_QUORUM');
    failures.peerStateTransition(3, 'NORMAL', 'DOWN');
    const { families } = failures;
    expect(samplesOf(families, 'dispatch_no_targets_total')).toEqual([
      'dc=dc1 rack=r1 consistency_level=DC_ONE: 1',
    ]);
    expect(samplesOf(families, 'dispatch_peer_send_full_total')).toEqual(['peer_idx=3 peer_dc=dc2: 1']);
    expect(samplesOf(families, 'dispatch_peer_send_closed_total')).toEqual(['peer_idx=3 peer_dc=dc2: 2']);
    expect(samplesOf(families, 'dispatch_backend_send_full_total')).toEqual([': 1']);
    expect(samplesOf(families, 'dispatch_backend_send_closed_total')).toEqual([': 1']);
    expect(samplesOf(families, 'dispatch_response_timeout_total')[1]).toBe('consistency_level=DC_QUORUM: 1');
    expect(samplesOf(families, 'peer_state_transitions_total')).toEqual([
      'peer_idx=3 from_state=NORMAL to_state=DOWN: 1',
    ]);
  });

  it('show a peer up exactly while it is JOINING or NORMAL', () => {
    const failures = new FailureMetrics();
    failures.addPeer(0, 'n2', 'dc1', 'r1');
    const shown = [0, 1, 2, 3, 4, 5, 6].map((code) => {
      failures.setPeerState(0, 'dc1', 'r1', code);
      expect(samplesOf(failures.families, 'peer_state_current')).toEqual([
        `peer_idx=0 dc=dc1 rack=r1: ${code}`,
      ]);
      return samplesOf(failures.base, 'svc_peer_state').join(', ');
    });
    const up = 'peer=n2 state=up: 1, peer=n2 state=down: 0';
    const down = 'peer=n2 state=up: 0, peer=n2 state=down: 1';
    expect(shown).toEqual([down, up, up, down, down, down, down]);
  });

  it('show a peer by its index until it is added by name, and drop its gauges when it leaves', () => {
    const failures = new FailureMetrics();
    failures.setPeerState(3, 'dc1', 'r1', 2);
    expect(samplesOf(failures.base, 'svc_peer_state')).toContain('peer=#3 state=up: 1');
    failures.addPeer(3, 'n4', 'dc1', 'r1', 2);
    expect(samplesOf(failures.base, 'svc_peer_state')).toEqual([
      'peer=n4 state=up: 1',
      'peer=n4 state=down: 0',
    ]);
    failures.peerSendFull(3, 'dc1');
    failures.removePeer(3);
    expect(samplesOf(failures.base, 'svc_peer_state')).toEqual([]);
    expect(samplesOf(failures.families, 'peer_state_current')).toEqual([]);
    expect(samplesOf(failures.families, 'gossip_phi_score_milli')).toEqual([]);
    expect(samplesOf(failures.families, 'dispatch_peer_send_full_total')).toEqual([
      'peer_idx=3 peer_dc=dc1: 1',
    ]);
  });
});

describe('metrics of an embedder', () => {
  it('receive the counts after their registration, only of the registered kind, and the peers known then', () => {
    const own = new FailureMetrics();
    own.startAt('dc1', 'r1');
    own.addPeer(1, 'n2', 'dc1', 'r2', 2);
    own.setPhi(1, 'dc1', 'r2', 700);
    own.noTargets('dc1', 'r1', 'DC_ONE');
    const both = new FailureMetrics();
    const gossipOnly = new FailureMetrics();
    own.copyDispatchTo(both);
    own.copyGossipTo(both);
    own.copyGossipTo(gossipOnly);
    expect(samplesOf(both.families, 'gossip_phi_score_milli')).toEqual(['peer_idx=1 dc=dc1 rack=r2: 700']);
    own.noTargets('dc1', 'r1', 'DC_ONE');
    own.responseTimeout('DC_QUORUM');
    own.peerSendFull(1, 'dc1');
    own.peerStateTransition(1, 'NORMAL', 'DOWN');
    own.setPeerState(1, 'dc1', 'r2', 4);
    own.addPeer(2, 'n3', 'dc1', 'r3');
    expect(samplesOf(own.families, 'dispatch_no_targets_total')[0]).toBe(
      'dc=dc1 rack=r1 consistency_level=DC_ONE: 2',
    );
    expect(samplesOf(both.families, 'dispatch_no_targets_total')[0]).toBe(
      'dc=dc1 rack=r1 consistency_level=DC_ONE: 1',
    );
    for (const name of ['peer_state_current', 'gossip_phi_score_milli', 'peer_state_transitions_total']) {
      expect(samplesOf(gossipOnly.families, name)).toEqual(samplesOf(own.families, name));
      expect(samplesOf(both.families, name)).toEqual(samplesOf(own.families, name));
    }
    expect(samplesOf(gossipOnly.families, 'dispatch_no_targets_total')).toEqual([]);
    expect(() => both.copyGossipTo(own)).toThrow(RangeError);
  });
});

describe('the anti-entropy families', () => {
  it('show every peer at zero, and count each event in its own family', () => {
    const metrics = new AntiEntropyMetrics();
    metrics.addPeer(1, 'dc1', 'r2');
    const values = () => metrics.families.map((family) => family.collect().map(({ value }) => value));
    const steps = { before: [0, 0, 0, 0, 0, 0, 0], after: [0, 0, 0, 10, 0, 0, 0] };
    expect(values()).toEqual([[0], [0], [0], [0], [0], [0], [0], [0], [0], steps.before, [0]]);
    metrics.exchangeAttempted(1, 'dc1', 'r2');
    metrics.exchangeSucceeded(1, 'dc1', 'r2');
    metrics.exchangeSucceeded(1, 'dc1', 'r2');
    metrics.keysDiverged(1, 'dc1', 'r2', 3);
    metrics.repairsDispatched(1, 'dc1', 'r2', 4);
    metrics.setDirtySegments(1, 5);
    metrics.sweepCompleted(1, 6);
    for (let count = 0; count < 7; count++) metrics.snapshotSaved();
    for (let count = 0; count < 8; count++) metrics.snapshotLoaded();
    for (let count = 0; count < 9; count++) metrics.snapshotRejected();
    for (let count = 0; count < 10; count++) metrics.exchangeAborted(1, 'list');
    for (let count = 0; count < 11; count++) metrics.leafRefuted();
    expect(values()).toEqual([[1], [2], [3], [4], [5], [6], [7], [8], [9], steps.after, [11]]);
  });
});
