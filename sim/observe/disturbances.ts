/**
 * Whether anything has disturbed a run so far: as long as nothing has, numbers that tell of trouble are 0 exactly
 * (`metrics-reconcile`). Beside the faults of the ledger and the ends of lives there are impatient clients, operators
 * whose nodes refuse clients (`node-standby`), and queues that a plan makes so short that its load alone may fill
 * them.
 */
import type { FaultKind } from '../faults/kinds/fault-kinds.ts';
import type { Plan } from '../plan/plan.ts';

/** Of these the plan says how many fit; as they are configured otherwise, no scenario's load fills them. */
const queues: readonly string[] = ['store_queue_count_max', 'peer_outbox_count_max'];

/** Faults that no ledger tells of at once: clients that leave before they are answered, nodes in STANDBY. */
const untold: readonly FaultKind[] = ['immediate-retry', 'client-disconnect', 'node-standby'];

export interface SoFar {
  readonly nowUs: number;
  /** A life has ended, or is about to. */
  readonly ended: boolean;
  /** Faults that the ledger knows of. */
  readonly injected: number;
  /** A node turned a request away because a queue was full. */
  readonly full: boolean;
}

export class Disturbances {
  /** From here on plans have faults of clients and operators (`untold`). */
  readonly #untoldUs: number;
  readonly #shortQueues: boolean;

  constructor({ settings, faults }: Pick<Plan, 'settings' | 'faults'>) {
    const those = faults.filter(({ kind }) => untold.includes(kind));
    this.#untoldUs = Math.min(Infinity, ...those.map(({ when }) => ('atUs' in when ? when.atUs : 0)));
    this.#shortQueues = queues.some((queue) => settings[queue] !== undefined);
  }

  areNone({ nowUs, ended, injected, full }: SoFar): boolean {
    const overrun = this.#shortQueues && full;
    return !ended && !overrun && injected === 0 && nowUs < this.#untoldUs;
  }
}
