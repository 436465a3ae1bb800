/**
 * What reads under way may bring of large objects to this node, all together (`client_read_bytes_max`). A read knows how
 * much it asks for before it asks (large-answers.ts), and waits for its turn when that is too much now: first come, first
 * served, since a small one that overtook would starve a large one. One read is always let in, however large.
 *
 * A read waits for room once, while it holds none: reads that waited for each other's room would all wait until they are
 * late. What it finds out later it needs is counted, and those behind it wait for longer. One that has answered its client,
 * and only hopes to hear of a silent replica, lets go when others wait.
 */
import { assert } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { Log } from '../io/log.ts';

/** Objects up to this size are sent to whoever reads them, and not counted. */
export const largeBytes = 64 * 1024;

export class ReadBudget {
  readonly #log: Log;
  readonly #bytesMax: number;
  /** In the order in which they came. */
  readonly #waiting = new Set<ReadShare>();
  /** They hold room and can do without, in the order in which they could. */
  readonly #spare = new Set<ReadShare>();
  #heldBytes = 0;
  #admitting = false;
  #closed = false;

  constructor(log: Log, bytesMax: number) {
    this.#log = log;
    this.#bytesMax = bytesMax;
  }

  /** Reads that wait for room. */
  get waiting(): number {
    return this.#waiting.size;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Nobody is let in any more: who waits is told. */
  close(): void {
    this.#closed = true;
    for (const share of this.#waiting) {
      this.#waiting.delete(share);
      share.refused(new LockstepError('ShuttingDown'));
    }
  }

  /** Of `ReadShare`: asks to be let in; told at once when there is room. */
  enter(share: ReadShare): void {
    if (this.#closed) {
      share.refused(new LockstepError('ShuttingDown'));
      return;
    }
    this.#waiting.add(share);
    this.#admit();
    if (this.#waiting.has(share) && this.#log.enabled('debug'))
      this.#log.event('debug', 'dispatch.read.waits', {
        bytes: share.bytes,
        held: this.#heldBytes,
        max: this.#bytesMax,
      });
  }

  /** Of `ReadShare`: it has been let in, or (`later`) finds that it needs more. */
  take(bytes: number, later: boolean): void {
    this.#heldBytes += bytes;
    if (this.#log.enabled('debug'))
      this.#log.event('debug', 'dispatch.read.holds', { bytes, held: this.#heldBytes, later });
  }

  /** Of `ReadShare`: it can do without its room, and is told to when others wait; or (`false`) it cannot any more. */
  spare(share: ReadShare, spared: boolean): void {
    if (!spared) this.#spare.delete(share);
    else if (!this.#spare.has(share)) {
      this.#spare.add(share);
      this.#admit();
    }
  }

  /** Of `ReadShare`. */
  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
    assert(this.#heldBytes >= 0, 'no more room is given back than was taken');
    if (this.#log.enabled('debug'))
      this.#log.event('debug', 'dispatch.read.gaveBack', { bytes, held: this.#heldBytes });
    this.#admit();
  }

  /** Of `ReadShare`: it waits no more. */
  withdraw(share: ReadShare): void {
    // Whoever stood behind it may have been waiting for it alone.
    if (this.#waiting.delete(share)) this.#admit();
  }

  /** One that is let in may be over before this returns, and gives back its room: no deeper, the loop is still running. */
  #admit(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    try {
      for (const share of this.#waiting) {
        if (!this.#makeRoom(share.bytes)) break;
        this.#waiting.delete(share);
        share.letIn();
      }
    } finally {
      this.#admitting = false;
    }
  }

  #makeRoom(bytes: number): boolean {
    while (this.#heldBytes > 0 && this.#heldBytes + bytes > this.#bytesMax) {
      const [spare] = this.#spare;
      if (spare === undefined) return false;
      this.#spare.delete(spare);
      spare.letGo();
    }
    return true;
  }
}

/** What one read holds of it. */
export class ReadShare {
  readonly #budget: ReadBudget;
  readonly #told: (error: LockstepError | undefined) => void;
  readonly #onLetGo: () => void;
  #bytes = 0;
  #state: 'new' | 'waiting' | 'in' | 'over' = 'new';

  /**
   * `told` is called once, perhaps within `enter`: it is in, or will not be. `onLetGo`, once it can do without: others
   * wait for its room; it must leave at once.
   */
  constructor(budget: ReadBudget, told: (error: LockstepError | undefined) => void, onLetGo: () => void) {
    this.#budget = budget;
    this.#told = told;
    this.#onLetGo = onLetGo;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get waits(): boolean {
    return this.#state === 'waiting';
  }

  enter(bytes: number): void {
    this.#bytes = bytes;
    this.#state = 'waiting';
    this.#budget.enter(this);
  }

  /** It is in, and holds so much more. */
  grow(bytes: number): void {
    if (this.#state !== 'in') return;
    this.#bytes += bytes;
    this.#budget.take(bytes, true);
  }

  /** Whether it can do without what it holds; perhaps it is taken at its word within this. */
  spare(spared: boolean): void {
    if (this.#state === 'in') this.#budget.spare(this, spared);
  }

  /** Gives back what it holds, or waits no more. */
  leave(): void {
    const was = this.#state;
    this.spare(false);
    this.#state = 'over';
    if (was === 'waiting') this.#budget.withdraw(this);
    else if (was === 'in') this.#budget.giveBack(this.#bytes);
  }

  /** Of the budget. */
  letIn(): void {
    this.#state = 'in';
    this.#budget.take(this.#bytes, false);
    this.#told(undefined);
  }

  /** Of the budget. */
  letGo(): void {
    this.#onLetGo();
  }

  /** Of the budget. */
  refused(error: LockstepError): void {
    this.#state = 'over';
    this.#told(error);
  }
}
