/**
 * Tells whether anything has disturbed a run so far. Until then, metrics that count failures must be exactly 0
 * (`metrics-reconcile`). Disturbances are injected faults, ended incarnations, impatient clients, operators who set
 * nodes to STANDBY (`node-standby`) or take backups (writes wait meanwhile), the node's own leave, paces of packets,
 * requests in a hurry, and queues so short that the plan's load may fill them.
 */
import type { FaultKind } from '../faults/fault-table.ts';
import { briefRequests } from '../plan/brief-requests.ts';
import type { Plan } from '../plan/plan.ts';

/** The plan configures the lengths of these queues. At their default lengths no scenario's load fills them. */
const queues: readonly string[] = ['store_queue_count_max', 'peer_outbox_count_max'];

/** Transactions on one key wait for each other: without any fault, a reader has seen 22 ms. */
const readWaitMsMin = 100;

/** Faults that the fault log does not record when they begin: clients that disconnect early, nodes in STANDBY, held writes. */
const untold: readonly FaultKind[] = [
  ...(['immediate-retry', 'client-disconnect', 'node-standby', 'backup-abandoned'] as const),
];

/** The state of a run at one instant, as far as it concerns disturbances. */
export interface SoFar {
  readonly nowUs: number;
  /** An incarnation has ended, or is about to end. */
  readonly ended: boolean;
  /** The node has left the ring: the others hear it no more. */
  readonly left: boolean;
  /** Number of faults that the fault log has recorded. */
  readonly injected: number;
  /** A node rejected a request because a queue was full. */
  readonly full: boolean;
}

/** Decides from a plan and the state of its run whether failure metrics may exceed 0. */
export class Disturbances {
  /** Virtual time from which the plan's client and operator faults (`untold`) may act. */
  readonly #untoldUs: number;
  /** `transaction_read_wait_ms` is so short that a transaction without any fault may outlast it. */
  readonly shortReadWait: boolean;
  readonly #shortQueues: boolean;
  readonly #hurried: boolean;

  constructor({
    settings,
    faults,
    paces,
    backups = [],
  }: Pick<Plan, 'settings' | 'faults' | 'paces' | 'backups'>) {
    this.#hurried = paces !== undefined || settings[briefRequests] !== undefined;
    const those = faults.filter(({ kind }) => untold.includes(kind));
    const begins = those.map(({ when }) => ('atUs' in when ? when.atUs : 0));
    this.#untoldUs = Math.min(Infinity, ...begins, ...backups.map(({ atUs }) => atUs));
    this.shortReadWait = Number(settings['transaction_read_wait_ms'] ?? readWaitMsMin) < readWaitMsMin;
    this.#shortQueues = queues.some((queue) => settings[queue] !== undefined);
  }

  areNone({ nowUs, ended, left, injected, full }: SoFar): boolean {
    const overrun = this.#shortQueues && full;
    return !this.#hurried && !ended && !left && !overrun && injected === 0 && nowUs < this.#untoldUs;
  }
}
