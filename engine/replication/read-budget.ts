/**
 * Bounds the bytes of large objects that all reads under way may bring to this node (`client_read_bytes_max`). A read
 * knows the size before it fetches (`large-answers.ts`) and waits for admission while the budget is exhausted.
 *
 * Admission is first come, first served: a small read that overtook would starve a large one. One read is always
 * admitted, however large. A read waits only while it holds nothing; if reads waited for each other's shares, all would
 * wait until their deadlines. What an admitted read needs later is counted, and the reads behind it wait longer.
 *
 * A read that has answered its client and only waits for a silent replica gives up its share when another read waits.
 */
import { assert } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { Log } from '../io/log.ts';

/** Objects up to this size are sent unasked and not counted. */
export const largeBytes = 64 * 1024;

/** The budget of one node. `ReadShare` is its only caller for admission. */
export class ReadBudget {
  readonly #log: Log;
  readonly #bytesMax: number;
  /** Shares that wait for admission, in order of arrival. */
  readonly #waiting = new Set<ReadShare>();
  /** Admitted shares that can be given up, in the order in which they became so. */
  readonly #spare = new Set<ReadShare>();
  #heldBytes = 0;
  #admitting = false;
  #closed = false;

  constructor(log: Log, bytesMax: number) {
    this.#log = log;
    this.#bytesMax = bytesMax;
  }

  /** Reads that wait for admission. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Bytes that admitted reads hold. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Stops admission: every waiting share, and every later one, is refused with `ShuttingDown`. */
  close(): void {
    this.#closed = true;
    for (const share of this.#waiting) {
      this.#waiting.delete(share);
      share.refused(new LockstepError('ShuttingDown'));
    }
  }

  /** Called by `ReadShare`: requests admission. The share is told at once if the budget allows it. */
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

  /** Called by `ReadShare`: counts its bytes on admission, or (`later`) the bytes that it finds to need afterwards. */
  take(bytes: number, later: boolean): void {
    this.#heldBytes += bytes;
    if (this.#log.enabled('debug'))
      this.#log.event('debug', 'dispatch.read.holds', { bytes, held: this.#heldBytes, later });
  }

  /** Called by `ReadShare`: marks its share as one that it can give up when others wait, or (`false`) no longer can. */
  spare(share: ReadShare, spared: boolean): void {
    if (!spared) this.#spare.delete(share);
    else if (!this.#spare.has(share)) {
      this.#spare.add(share);
      this.#admit();
    }
  }

  /** Called by `ReadShare`: returns bytes. */
  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
    assert(this.#heldBytes >= 0, 'no more room is given back than was taken');
    if (this.#log.enabled('debug'))
      this.#log.event('debug', 'dispatch.read.gaveBack', { bytes, held: this.#heldBytes });
    this.#admit();
  }

  /** Called by `ReadShare`: it no longer waits. */
  withdraw(share: ReadShare): void {
    // The shares behind it may have waited for it alone.
    if (this.#waiting.delete(share)) this.#admit();
  }

  /**
   * Admits waiting shares while they fit. An admitted share may end, and return its bytes, before `letIn` returns: the
   * loop that runs then continues, without recursion.
   */
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

/** One read's share of the budget. */
export class ReadShare {
  readonly #budget: ReadBudget;
  readonly #told: (error: LockstepError | undefined) => void;
  readonly #onLetGo: () => void;
  #bytes = 0;
  #state: 'new' | 'waiting' | 'in' | 'over' = 'new';

  /**
   * `told` is called once, possibly within `enter`: with undefined on admission, with an error if refused. `onLetGo` is
   * called after `spare(true)` when another read waits; the owner must `leave` before it returns.
   */
  constructor(budget: ReadBudget, told: (error: LockstepError | undefined) => void, onLetGo: () => void) {
    this.#budget = budget;
    this.#told = told;
    this.#onLetGo = onLetGo;
  }

  /** Bytes that the share asks for or holds. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it waits for admission. */
  get waits(): boolean {
    return this.#state === 'waiting';
  }

  /** Requests admission for `bytes` bytes. Called once. */
  enter(bytes: number): void {
    this.#bytes = bytes;
    this.#state = 'waiting';
    this.#budget.enter(this);
  }

  /** Adds `bytes` to an admitted share. */
  grow(bytes: number): void {
    if (this.#state !== 'in') return;
    this.#bytes += bytes;
    this.#budget.take(bytes, true);
  }

  /** Says whether the read can give up its share. `onLetGo` may be called within this call. */
  spare(spared: boolean): void {
    if (this.#state === 'in') this.#budget.spare(this, spared);
  }

  /** Returns the share's bytes, or stops waiting. Idempotent. */
  leave(): void {
    const was = this.#state;
    this.spare(false);
    this.#state = 'over';
    if (was === 'waiting') this.#budget.withdraw(this);
    else if (was === 'in') this.#budget.giveBack(this.#bytes);
  }

  /** Called by the budget on admission. */
  letIn(): void {
    this.#state = 'in';
    this.#budget.take(this.#bytes, false);
    this.#told(undefined);
  }

  /** Called by the budget when another read waits. */
  letGo(): void {
    this.#onLetGo();
  }

  /** Called by the budget when it is closed. */
  refused(error: LockstepError): void {
    this.#state = 'over';
    this.#told(error);
  }
}
