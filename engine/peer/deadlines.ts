/**
 * Deadlines of many requests on one timer: a hashed wheel (source: Varghese and Lauck, "Hashed and Hierarchical Timing
 * Wheels", 1987, scheme 6). Setting and removing cost a set operation; the timer is armed for the next slot that holds
 * anything, so an idle wheel is silent.
 *
 * Invariants: a deadline never expires early and at most one grain (and the clock's own lateness) late; items of one
 * slot expire in the order in which they were added.
 */
import { present } from '../base/assert.ts';
import type { Clock, Timer } from '../io/clock.ts';

export interface Deadlined {
  /** Set by the wheel: the grain at whose end the item expires. */
  deadlineTick: number;
}

const slotCount = 512;

export class DeadlineWheel<T extends Deadlined> {
  readonly #clock: Clock;
  readonly #grainUs: number;
  readonly #expire: (item: T) => void;
  readonly #slots: readonly Set<T>[] = Array.from({ length: slotCount }, () => new Set<T>());
  #count = 0;
  /** All slots up to this tick have been looked at. */
  #doneTick = 0;
  #timer: Timer | undefined;
  #timerTick = 0;

  constructor(clock: Clock, grainUs: number, expire: (item: T) => void) {
    this.#clock = clock;
    this.#grainUs = grainUs;
    this.#expire = expire;
  }

  /** Items that are set. */
  get count(): number {
    return this.#count;
  }

  /** `expire` will be called with the item, unless it is removed first, about `timeoutUs` from `nowUs` (now). */
  add(item: T, nowUs: number, timeoutUs: number): void {
    const nowTick = Math.floor(nowUs / this.#grainUs);
    if (this.#count === 0) this.#doneTick = nowTick;
    item.deadlineTick = Math.max(nowTick + 1, Math.ceil((nowUs + timeoutUs) / this.#grainUs));
    this.#slot(item.deadlineTick).add(item);
    this.#count += 1;
    this.#arm(item.deadlineTick, nowUs);
  }

  /** The item will not expire. Harmless when it is not set. */
  remove(item: T): void {
    if (this.#slot(item.deadlineTick).delete(item)) this.#count -= 1;
  }

  /** Forgets all items. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const slot of this.#slots) slot.clear();
    this.#count = 0;
  }

  #slot(tick: number): Set<T> {
    return present(this.#slots[tick % slotCount], 'a slot');
  }

  #arm(tick: number, nowUs: number): void {
    if (this.#timer !== undefined && this.#timerTick <= tick) return;
    this.#timer?.cancel();
    this.#timerTick = tick;
    this.#timer = this.#clock.after(tick * this.#grainUs - nowUs, () => this.#fire());
  }

  #fire(): void {
    this.#timer = undefined;
    const nowTick = Math.floor(this.#clock.nowUs() / this.#grainUs);
    // After a stall of more than a round every slot is due for a look, once.
    const firstTick = Math.max(this.#doneTick + 1, nowTick - slotCount + 1);
    this.#doneTick = Math.max(this.#doneTick, nowTick);
    for (let tick = firstTick; tick <= nowTick; tick++) this.#sweep(this.#slot(tick), nowTick);
    const next = this.#nextTick();
    if (next !== undefined) this.#arm(next, this.#clock.nowUs());
  }

  #sweep(slot: Set<T>, nowTick: number): void {
    for (const item of slot) {
      if (item.deadlineTick > nowTick) continue;
      slot.delete(item);
      this.#count -= 1;
      this.#expire(item);
    }
  }

  /** The next tick whose slot holds anything, be it for a later round. */
  #nextTick(): number | undefined {
    if (this.#count === 0) return undefined;
    for (let tick = this.#doneTick + 1; tick <= this.#doneTick + slotCount; tick++) {
      if (this.#slot(tick).size > 0) return tick;
    }
    return undefined;
  }
}
