/** The counters of anti-entropy: the `aae_` families. Every value is zero until the anti-entropy module counts. */
import type { FamilySource } from './family.ts';
import { LabelledFamily } from './labelled-family.ts';

const peerLabels = ['peer_idx', 'dc', 'rack'];

/**
 * The step that an exchange is in: this node's tree is brought up to date, hashes of whole ranges are compared, then
 * those of their parts, keys are listed, keys are repaired, the peer is notified of the end. `busy` is no
 * step: the peer was in another exchange.
 */
export type ExchangeStep = (typeof exchangeSteps)[number];
const exchangeSteps = ['settle', 'hashes', 'parts', 'list', 'repair', 'close', 'busy'] as const;

/** The accumulator of one node. Methods take the peer's index and, for labels, its datacenter and rack. */
export class AntiEntropyMetrics {
  readonly #attempts = new LabelledFamily({
    name: 'aae_exchange_attempts_total',
    help: 'Sweep ticks that selected the peer, whatever the outcome.',
    type: 'counter',
    labels: peerLabels,
  });
  readonly #successes = new LabelledFamily({
    name: 'aae_exchange_success_total',
    help: 'Exchanges that finished without a transport error, whether or not divergences were found.',
    type: 'counter',
    labels: peerLabels,
  });
  readonly #divergentKeys = new LabelledFamily({
    name: 'aae_exchange_divergent_keys_total',
    help: 'Divergent keys observed with this peer.',
    type: 'counter',
    labels: peerLabels,
  });
  readonly #repairs = new LabelledFamily({
    name: 'aae_repair_dispatched_total',
    help: 'Repair tasks dispatched against this peer (winners plus siblings).',
    type: 'counter',
    labels: peerLabels,
  });
  readonly #dirtySegments = new LabelledFamily({
    name: 'aae_tree_segments_dirty_gauge',
    help: 'Segments that need a rebuild now; non-zero across sweeps means a stuck rebuild.',
    type: 'gauge',
    labels: ['peer_idx'],
  });
  readonly #lastSweep = new LabelledFamily({
    name: 'aae_full_sweep_last_completed_seconds_gauge',
    help: "UNIX-epoch seconds when the peer's last full sweep completed; 0 means never.",
    type: 'gauge',
    labels: ['peer_idx'],
  });
  readonly #saves = new LabelledFamily({
    name: 'aae_snapshot_save_total',
    help: 'Snapshot writes.',
    type: 'counter',
    labels: [],
  });
  readonly #loads = new LabelledFamily({
    name: 'aae_snapshot_load_total',
    help: 'Snapshot loads at process start.',
    type: 'counter',
    labels: [],
  });
  readonly #rejections = new LabelledFamily({
    name: 'aae_snapshot_corruption_total',
    help: 'Snapshot rejections (Corrupted, VersionSkew, BadShape); benign after a version bump.',
    type: 'counter',
    labels: [],
  });

  readonly #aborted = new LabelledFamily({
    name: 'svc_aae_exchanges_aborted_total',
    help: 'Exchanges that did not finish, by the peer and the step that they stood at; busy: the peer was in another one.',
    type: 'counter',
    labels: ['peer_idx', 'step'],
  });
  readonly #leavesRefuted = new LabelledFamily({
    name: 'svc_aae_tree_verify_failures_total',
    help: 'Leaves of the hash tree found wrong though nothing under them had changed; above 0 means faulty memory.',
    type: 'counter',
    labels: [],
  });

  #beforeCollect: () => void = () => undefined;

  /** The families in order of publication: the `aae_` families, then this product's own. */
  readonly families: readonly FamilySource[] = [
    this.#attempts,
    this.#successes,
    this.#divergentKeys,
    this.#repairs,
    this.#measured(this.#dirtySegments),
    this.#lastSweep,
    this.#saves,
    this.#loads,
    this.#rejections,
    this.#aborted,
    this.#leavesRefuted,
  ];

  constructor() {
    for (const family of [this.#saves, this.#loads, this.#rejections, this.#leavesRefuted]) family.child();
  }

  /** Calls `update` before the gauge of dirty segments is read, so that it shows the current number. */
  beforeCollect(update: () => void): void {
    this.#beforeCollect = update;
  }

  /** Adds a peer with all its counters and gauges at zero. */
  addPeer(peerIdx: number, dc: string, rack: string): void {
    for (const family of [this.#attempts, this.#successes, this.#divergentKeys, this.#repairs]) {
      family.child(peerIdx, dc, rack);
    }
    this.#dirtySegments.child(peerIdx);
    this.#lastSweep.child(peerIdx);
    for (const step of exchangeSteps) this.#aborted.child(peerIdx, step);
  }

  /** A sweep tick selected the peer. */
  exchangeAttempted(peerIdx: number, dc: string, rack: string): void {
    this.#attempts.child(peerIdx, dc, rack).value += 1;
  }

  /** An exchange with the peer finished without a transport error. */
  exchangeSucceeded(peerIdx: number, dc: string, rack: string): void {
    this.#successes.child(peerIdx, dc, rack).value += 1;
  }

  /** An exchange with the peer ended early in `step`. */
  exchangeAborted(peerIdx: number, step: ExchangeStep): void {
    this.#aborted.child(peerIdx, step).value += 1;
  }

  /** A leaf of the hash tree was wrong although nothing under it had changed. */
  leafRefuted(): void {
    this.#leavesRefuted.child().value += 1;
  }

  /** `count` keys differed from the peer's. */
  keysDiverged(peerIdx: number, dc: string, rack: string, count: number): void {
    this.#divergentKeys.child(peerIdx, dc, rack).value += count;
  }

  /** `count` repairs were dispatched against the peer. */
  repairsDispatched(peerIdx: number, dc: string, rack: string, count: number): void {
    this.#repairs.child(peerIdx, dc, rack).value += count;
  }

  /** Sets the number of tree segments that need a rebuild. */
  setDirtySegments(peerIdx: number, count: number): void {
    this.#dirtySegments.child(peerIdx).value = count;
  }

  /** A full sweep of the peer completed; wall clock, in seconds since the epoch. */
  sweepCompleted(peerIdx: number, epochSeconds: number): void {
    this.#lastSweep.child(peerIdx).value = epochSeconds;
  }

  /** A snapshot of the tree was written. */
  snapshotSaved(): void {
    this.#saves.child().value += 1;
  }

  /** A snapshot of the tree was loaded at the start. */
  snapshotLoaded(): void {
    this.#loads.child().value += 1;
  }

  /** A snapshot of the tree was rejected. */
  snapshotRejected(): void {
    this.#rejections.child().value += 1;
  }

  #measured(gauge: LabelledFamily): FamilySource {
    const { name, help, type, labels } = gauge;
    return {
      name,
      help,
      type,
      labels,
      collect: () => {
        this.#beforeCollect();
        return gauge.collect();
      },
    };
  }
}
