/**
 * The counters of failed requests and the gauges of peer states: one accumulator shared by the dispatcher and the
 * membership.
 *
 * Everything starts at zero. Counting finds a child without allocating. `peer_state_transitions_total` has children
 * only for transitions that occurred: the other families are bounded by the number of peers, and it by 42 times that.
 *
 * An accumulator can copy its further counts to one of an embedder: those of the dispatcher, those of gossip, or both.
 */
import type { FamilySource } from './family.ts';
import { LabelledFamily } from './labelled-family.ts';

const levels = ['DC_ONE', 'DC_QUORUM', 'DC_SAFE_QUORUM', 'DC_EACH_SAFE_QUORUM'] as const;

/** Codes of `peer_state_current` that are routable: JOINING and NORMAL. */
const routableCodes: readonly number[] = [1, 2];

/** Current values of a peer's gauges. */
interface PeerShown {
  readonly name: string;
  readonly dc: string;
  readonly rack: string;
  code: number;
  milliPhi: number;
}

const peerLabels = ['peer_idx', 'dc', 'rack'];

/** The accumulator. Methods take a peer's index and, for labels, its datacenter and rack. */
export class FailureMetrics {
  readonly #noTargets = new LabelledFamily({
    name: 'dispatch_no_targets_total',
    help: 'Requests refused because the only routable peer for the hashed token was down or absent.',
    type: 'counter',
    labels: ['dc', 'rack', 'consistency_level'],
  });
  readonly #peerSendFull = new LabelledFamily({
    name: 'dispatch_peer_send_full_total',
    help: "Requests refused because a peer's outbound channel was full (its link does not drain fast enough).",
    type: 'counter',
    labels: ['peer_idx', 'peer_dc'],
  });
  readonly #peerSendClosed = new LabelledFamily({
    name: 'dispatch_peer_send_closed_total',
    help: "Requests refused because a peer's outbound channel was closed (a supervised reconnect is expected).",
    type: 'counter',
    labels: ['peer_idx', 'peer_dc'],
  });
  readonly #backendSendFull = new LabelledFamily({
    name: 'dispatch_backend_send_full_total',
    help: "Requests refused because the local store's channel was full.",
    type: 'counter',
    labels: [],
  });
  readonly #backendSendClosed = new LabelledFamily({
    name: 'dispatch_backend_send_closed_total',
    help: "Requests refused because the local store's channel was closed (its driver has exited).",
    type: 'counter',
    labels: [],
  });
  readonly #responseTimeout = new LabelledFamily({
    name: 'dispatch_response_timeout_total',
    help: 'Requests given up because too few targets answered in time.',
    type: 'counter',
    labels: ['consistency_level'],
  });
  readonly #transitions = new LabelledFamily({
    name: 'peer_state_transitions_total',
    help: "Changes of a peer's state as this node saw them.",
    type: 'counter',
    labels: ['peer_idx', 'from_state', 'to_state'],
  });
  readonly #state = new LabelledFamily({
    name: 'peer_state_current',
    help: 'State of each peer: 0 UNKNOWN, 1 JOINING, 2 NORMAL, 3 STANDBY, 4 DOWN, 5 RESET, 6 LEAVING.',
    type: 'gauge',
    labels: peerLabels,
  });
  readonly #phi = new LabelledFamily({
    name: 'gossip_phi_score_milli',
    help: 'Phi-accrual failure-detector score of each peer, times 1000 (suspected from 8000 on by default).',
    type: 'gauge',
    labels: peerLabels,
  });
  readonly #peerState = new LabelledFamily({
    name: 'svc_peer_state',
    help: 'Per peer and state (up: routable, or down): 1 for the active state and 0 for the inactive one.',
    type: 'gauge',
    labels: ['peer', 'state'],
  });
  readonly #peers = new Map<number, PeerShown>();
  /** Accumulators that receive copies. Never this one, directly or indirectly (`mustEnd`). */
  readonly #dispatchCopies: FailureMetrics[] = [];
  readonly #gossipCopies: FailureMetrics[] = [];
  #place: { readonly dc: string; readonly rack: string } | undefined;

  /** `svc_peer_state`, which is published among the base families. */
  readonly base: readonly FamilySource[] = [this.#peerState];

  /** The failure-cause families, in order of publication. */
  readonly families: readonly FamilySource[] = [
    this.#noTargets,
    this.#peerSendFull,
    this.#peerSendClosed,
    this.#backendSendFull,
    this.#backendSendClosed,
    this.#responseTimeout,
    this.#transitions,
    this.#state,
    this.#phi,
  ];

  constructor() {
    this.#backendSendFull.child();
    this.#backendSendClosed.child();
    for (const level of levels) this.#responseTimeout.child(level);
  }

  /**
   * From now on copies the dispatcher's counts to `metrics`: requests without targets or answers, and refused ones.
   * Throws `RangeError` if `metrics` copies to this one.
   */
  copyDispatchTo(metrics: FailureMetrics): void {
    mustEnd(this, metrics, (one) => one.#dispatchCopies);
    this.#dispatchCopies.push(metrics);
    if (this.#place !== undefined) metrics.startAt(this.#place.dc, this.#place.rack);
  }

  /**
   * From now on copies the gauges and counters of gossip to `metrics`, which shows the present peers at once. Throws
   * `RangeError` if `metrics` copies to this one.
   */
  copyGossipTo(metrics: FailureMetrics): void {
    mustEnd(this, metrics, (one) => one.#gossipCopies);
    this.#gossipCopies.push(metrics);
    for (const [index, { name, dc, rack, code, milliPhi }] of this.#peers) {
      metrics.addPeer(index, name, dc, rack, code);
      metrics.setPhi(index, dc, rack, milliPhi);
    }
  }

  /** Sets this node's place: `dispatch_no_targets_total` then exists at zero for every level. */
  startAt(dc: string, rack: string): void {
    this.#place = { dc, rack };
    for (const level of levels) this.#noTargets.child(dc, rack, level);
    for (const copy of this.#dispatchCopies) copy.startAt(dc, rack);
  }

  /**
   * Adds a peer by name, with its counters at zero. Until the first `setPeerState` its state is `code` (default:
   * UNKNOWN).
   */
  addPeer(peerIdx: number, name: string, dc: string, rack: string, code = 0): void {
    this.#hide(peerIdx);
    this.#peers.set(peerIdx, { name, dc, rack, code, milliPhi: 0 });
    this.#peerSendFull.child(peerIdx, dc);
    this.#peerSendClosed.child(peerIdx, dc);
    for (const copy of this.#gossipCopies) copy.addPeer(peerIdx, name, dc, rack, code);
    this.setPeerState(peerIdx, dc, rack, code);
    this.setPhi(peerIdx, dc, rack, 0);
  }

  /** A peer left the cluster: removes its gauges, keeps its counters. */
  removePeer(peerIdx: number): void {
    this.#hide(peerIdx);
    this.#state.removeAll(peerIdx);
    this.#phi.removeAll(peerIdx);
    for (const copy of this.#gossipCopies) copy.removePeer(peerIdx);
  }

  /** A request of this level had no routable replica. `dc` and `rack` are this node's. */
  noTargets(dc: string, rack: string, level: string): void {
    this.#noTargets.child(dc, rack, level).value += 1;
    for (const copy of this.#dispatchCopies) copy.noTargets(dc, rack, level);
  }

  /** A request was refused because the peer's outbound channel was full. */
  peerSendFull(peerIdx: number, peerDc: string): void {
    this.#peerSendFull.child(peerIdx, peerDc).value += 1;
    for (const copy of this.#dispatchCopies) copy.peerSendFull(peerIdx, peerDc);
  }

  /** A request was refused because the peer's outbound channel was closed. */
  peerSendClosed(peerIdx: number, peerDc: string): void {
    this.#peerSendClosed.child(peerIdx, peerDc).value += 1;
    for (const copy of this.#dispatchCopies) copy.peerSendClosed(peerIdx, peerDc);
  }

  /** A request was refused because the store's channel was full. */
  backendSendFull(): void {
    this.#backendSendFull.child().value += 1;
    for (const copy of this.#dispatchCopies) copy.backendSendFull();
  }

  /** A request was refused because the store's channel was closed. */
  backendSendClosed(): void {
    this.#backendSendClosed.child().value += 1;
    for (const copy of this.#dispatchCopies) copy.backendSendClosed();
  }

  /** Too few replicas answered a request of this level in time. */
  responseTimeout(level: string): void {
    this.#responseTimeout.child(level).value += 1;
    for (const copy of this.#dispatchCopies) copy.responseTimeout(level);
  }

  /** A peer's state changed; states by name. */
  peerStateTransition(peerIdx: number, from: string, to: string): void {
    this.#transitions.child(peerIdx, from, to).value += 1;
    for (const copy of this.#gossipCopies) copy.peerStateTransition(peerIdx, from, to);
  }

  /** Sets a peer's state by its code, and `svc_peer_state` with it. */
  setPeerState(peerIdx: number, dc: string, rack: string, code: number): void {
    const peer = this.#peerOf(peerIdx, dc, rack);
    const { name } = peer;
    peer.code = code;
    const up = routableCodes.includes(code) ? 1 : 0;
    this.#state.child(peerIdx, dc, rack).value = code;
    this.#peerState.child(name, 'up').value = up;
    this.#peerState.child(name, 'down').value = 1 - up;
    for (const copy of this.#gossipCopies) copy.setPeerState(peerIdx, dc, rack, code);
  }

  /** Sets the failure detector's score of a peer, in thousandths of phi. */
  setPhi(peerIdx: number, dc: string, rack: string, milliPhi: number): void {
    this.#phi.child(peerIdx, dc, rack).value = milliPhi;
    const peer = this.#peers.get(peerIdx);
    if (peer !== undefined) peer.milliPhi = milliPhi;
    for (const copy of this.#gossipCopies) copy.setPhi(peerIdx, dc, rack, milliPhi);
  }

  /** A peer that was not added by name is shown by its index, in a form that no node's name has. */
  #peerOf(peerIdx: number, dc: string, rack: string): PeerShown {
    const known = this.#peers.get(peerIdx);
    if (known !== undefined) return known;
    const peer = { name: `#${peerIdx}`, dc, rack, code: 0, milliPhi: 0 };
    this.#peers.set(peerIdx, peer);
    return peer;
  }

  #hide(peerIdx: number): void {
    const peer = this.#peers.get(peerIdx);
    if (peer !== undefined) this.#peerState.removeAll(peer.name);
    this.#peers.delete(peerIdx);
  }
}

/** Throws `RangeError` if `to` copies to `from`: a cycle would count for ever. */
function mustEnd(
  from: FailureMetrics,
  to: FailureMetrics,
  copiesOf: (metrics: FailureMetrics) => readonly FailureMetrics[],
): void {
  if (to === from) throw new RangeError('an accumulator of failures does not count along with itself');
  for (const next of copiesOf(to)) mustEnd(from, next, copiesOf);
}
