/**
 * Deadlines of many requests on one timer: a hashed timing wheel (source: Varghese and Lauck, "Hashed and Hierarchical
 * Timing Wheels", 1987, scheme 6). The items of a slot form a list through the items themselves, so setting and
 * removing an item write four fields. The timer is armed for the next slot that holds an item, so an idle wheel has no
 * timer.
 *
 * Invariants: a deadline never expires early, and at most one grain late (plus the clock's own lateness). Items of one
 * slot expire in the sequence in which they were added.
 */
import type { Clock, Timer } from '../io/clock.ts';

/** The fields of an item that the wheel uses; only the wheel writes them. */
export interface Deadlined<T> {
  /** The tick at whose end the item expires, in grains; 0 while the item is not set. */
  deadlineTick: number;
  /** The item's neighbours in its slot. */
  dueAfter: T | undefined;
  dueBefore: T | undefined;
}

const slotCount = 512;

/** A timing wheel of 512 slots. Calls `expire` for each item whose deadline passes. */
export class DeadlineWheel<T extends Deadlined<T>> {
  readonly #clock: Clock;
  readonly #grainUs: number;
  readonly #expire: (item: T) => void;
  /** For each slot, the item that was added first and the one that was added last. */
  readonly #firsts = new Array<T | undefined>(slotCount).fill(undefined);
  readonly #lasts = new Array<T | undefined>(slotCount).fill(undefined);
  #count = 0;
  /** All slots up to this tick have been swept. */
  #doneTick = 0;
  #timer: Timer | undefined;
  #timerTick = 0;

  constructor(clock: Clock, grainUs: number, expire: (item: T) => void) {
    this.#clock = clock;
    this.#grainUs = grainUs;
    this.#expire = expire;
  }

  /** How many items are set. */
  get count(): number {
    return this.#count;
  }

  /**
   * Sets the item: `expire` is called with it about `timeoutUs` after `nowUs` (the current monotonic time), unless it
   * is removed first.
   */
  add(item: T, nowUs: number, timeoutUs: number): void {
    const nowTick = Math.floor(nowUs / this.#grainUs);
    if (this.#count === 0) this.#doneTick = nowTick;
    item.deadlineTick = Math.max(nowTick + 1, Math.ceil((nowUs + timeoutUs) / this.#grainUs));
    this.#append(item, item.deadlineTick % slotCount);
    this.#arm(item.deadlineTick, nowUs);
  }

  /** Removes the item. Does nothing if it is not set. */
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

  /** Removes all items and the timer. */
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
    // After a stall of more than a whole turn, every slot is swept once.
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
      // An earlier callback may have removed this item, or set it again.
      if (item.deadlineTick === 0 || item.deadlineTick > nowTick) continue;
      this.remove(item);
      this.#expire(item);
    }
  }

  /** The next tick whose slot holds an item, be it for a later turn. */
  #nextTick(): number | undefined {
    if (this.#count === 0) return undefined;
    for (let tick = this.#doneTick + 1; tick <= this.#doneTick + slotCount; tick++) {
      if (this.#firsts[tick % slotCount] !== undefined) return tick;
    }
    return undefined;
  }
}
