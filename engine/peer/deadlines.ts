/**
 * Deadlines of many requests on one timer: a hashed wheel (source: Varghese and Lauck, "Hashed and Hierarchical Timing
 * Wheels", 1987, scheme 6). The items of a slot are a list through the items themselves, so that setting and removing
 * write four fields; the timer is armed for the next slot that holds anything, so an idle wheel is silent.
 *
 * Invariants: a deadline never expires early and at most one grain (and the clock's own lateness) late; items of one
 * slot expire in the order in which they were added.
 */
import type { Clock, Timer } from '../io/clock.ts';

/** What the wheel keeps in an item; it alone writes these fields. */
export interface Deadlined<T> {
  /** The grain at whose end the item expires; 0 while it is not set. */
  deadlineTick: number;
  /** Its neighbours in its slot. */
  dueAfter: T | undefined;
  dueBefore: T | undefined;
}

const slotCount = 512;

export class DeadlineWheel<T extends Deadlined<T>> {
  readonly #clock: Clock;
  readonly #grainUs: number;
  readonly #expire: (item: T) => void;
  /** By slot, the item added first and the one added last. */
  readonly #firsts = new Array<T | undefined>(slotCount).fill(undefined);
  readonly #lasts = new Array<T | undefined>(slotCount).fill(undefined);
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
    this.#append(item, item.deadlineTick % slotCount);
    this.#arm(item.deadlineTick, nowUs);
  }

  /** The item will not expire. Harmless when it is not set. */
  remove(item: T): void {
    if (item.deadlineTick === 0) return;
    const slot = item.deadlineTick % slotCount;
    const { dueBefore, dueAfter } = item;
    if (dueBefore === undefined) this.#firsts[slot] = dueAfter;
    else dueBefore.dueAfter = dueAfter;
    if (dueAfter === undefined) this.#lasts[slot] = dueBefore;
    else dueAfter.dueBefore = dueBefore;
    this.#release(item);
  }

  /** Forgets all items. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    for (let slot = 0; slot < slotCount; slot++) {
      for (let item = this.#firsts[slot]; item !== undefined; item = this.#firsts[slot]) this.remove(item);
    }
  }

  #append(item: T, slot: number): void {
    const last = this.#lasts[slot];
    item.dueBefore = last;
    if (last === undefined) this.#firsts[slot] = item;
    else last.dueAfter = item;
    this.#lasts[slot] = item;
    this.#count += 1;
  }

  #release(item: T): void {
    item.deadlineTick = 0;
    item.dueBefore = undefined;
    item.dueAfter = undefined;
    this.#count -= 1;
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
    for (let tick = firstTick; tick <= nowTick; tick++) this.#sweep(tick % slotCount, nowTick);
    const next = this.#nextTick();
    if (next !== undefined) this.#arm(next, this.#clock.nowUs());
  }

  #sweep(slot: number, nowTick: number): void {
    const due: T[] = [];
    for (let item = this.#firsts[slot]; item !== undefined; item = item.dueAfter) {
      if (item.deadlineTick <= nowTick) due.push(item);
    }
    for (const item of due) {
      // Who heard of one before it may have removed it, or set it again.
      if (item.deadlineTick === 0 || item.deadlineTick > nowTick) continue;
      this.remove(item);
      this.#expire(item);
    }
  }

  /** The next tick whose slot holds anything, be it for a later round. */
  #nextTick(): number | undefined {
    if (this.#count === 0) return undefined;
    for (let tick = this.#doneTick + 1; tick <= this.#doneTick + slotCount; tick++) {
      if (this.#firsts[tick % slotCount] !== undefined) return tick;
    }
    return undefined;
  }
}
