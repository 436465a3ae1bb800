/**
 * The future events, in order of (instant, order of scheduling): a 4-ary heap over typed arrays, so that a comparison
 * touches numbers only. Ties are ordered, and no item is taken before its turn.
 *
 * Cancelling is lazy: the item is forgotten at once, and its place in the heap disappears when it reaches the top. When
 * more than half of the places are dead, the heap is rebuilt. Instants are whole microseconds (exact up to 2^53).
 */
import { assert } from '../../../engine/base/assert.ts';

/** Identifies one scheduled item and is never reused: the ticket of an item that is gone cancels nothing. */
export type Ticket = number;

const arity = 4;
const slotsMax = 2 ** 20;
const free = -1;
const rebuildLengthMin = 1024;

/** A priority queue of items by instant. */
export class Agenda<Item extends object> {
  // The heap, by place: the instant, the order of scheduling, and the slot of the item.
  #times = new Float64Array(64);
  #orders = new Float64Array(64);
  #slots = new Uint32Array(64);
  #size = 0;

  // The items, by slot: an item keeps its slot while the heap moves its place.
  readonly #items: (Item | undefined)[] = [];
  readonly #owners: number[] = [];
  readonly #freeSlots: number[] = [];

  #order = 0;
  #dead = 0;

  /** How many items are scheduled and neither taken nor cancelled. */
  get length(): number {
    return this.#size - this.#dead;
  }

  /** The instant of the next item; Infinity if there is none. */
  get nextUs(): number {
    while (this.#size > 0 && this.#topItem() === undefined) this.#dropTop();
    return this.#size > 0 ? (this.#times[0] ?? Infinity) : Infinity;
  }

  /** Schedules an item at an instant, after everything already scheduled there. */
  schedule(atUs: number, item: Item): Ticket {
    assert(Number.isSafeInteger(atUs) && atUs >= 0, 'an instant is a whole number of microseconds');
    const order = this.#order++;
    const slot = this.#takeSlot();
    this.#items[slot] = item;
    this.#owners[slot] = order;
    this.#push(atUs, order, slot);
    return order * slotsMax + slot;
  }

  /** Forgets an item; false if it was taken or cancelled before. */
  cancel(ticket: Ticket): boolean {
    const slot = ticket % slotsMax;
    if (this.#owners[slot] !== (ticket - slot) / slotsMax) return false;
    this.#forget(slot);
    this.#rebuildWhenMostlyDead();
    return true;
  }

  /** The next item; undefined if there is none. */
  take(): Item | undefined {
    while (this.#size > 0) {
      const item = this.#topItem();
      this.#dropTop();
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /** Cancels every item for which `drop` returns true (called once for each, in no particular order). */
  cancelWhere(drop: (item: Item) => boolean): void {
    for (let slot = 0; slot < this.#items.length; slot++) {
      const item = this.#items[slot];
      if (item !== undefined && drop(item)) this.#forget(slot);
    }
    this.#rebuildWhenMostlyDead();
  }

  #topItem(): Item | undefined {
    return this.#items[this.#slots[0] ?? 0];
  }

  #forget(slot: number): void {
    this.#items[slot] = undefined;
    this.#owners[slot] = free;
    this.#dead += 1;
  }

  #takeSlot(): number {
    const slot = this.#freeSlots.pop() ?? this.#items.length;
    assert(slot < slotsMax, 'the agenda holds at most 2^20 items');
    return slot;
  }

  #releaseSlot(slot: number): void {
    if (this.#items[slot] === undefined) this.#dead -= 1;
    this.#items[slot] = undefined;
    this.#owners[slot] = free;
    this.#freeSlots.push(slot);
  }

  #push(time: number, order: number, slot: number): void {
    if (this.#size === this.#times.length) this.#grow();
    const times = this.#times;
    const orders = this.#orders;
    const slots = this.#slots;
    let hole = this.#size++;
    while (hole > 0) {
      const parent = (hole - 1) >> 2;
      const parentTime = times[parent] ?? 0;
      // An equal instant keeps its place: the new item was scheduled later.
      if (parentTime <= time) break;
      times[hole] = parentTime;
      orders[hole] = orders[parent] ?? 0;
      slots[hole] = slots[parent] ?? 0;
      hole = parent;
    }
    times[hole] = time;
    orders[hole] = order;
    slots[hole] = slot;
  }

  #dropTop(): void {
    this.#releaseSlot(this.#slots[0] ?? 0);
    const last = --this.#size;
    if (last > 0) this.#sink(0, last);
  }

  /** Puts the entry at place `from` into the subtree below `hole`, in a heap of `size` entries. */
  #sink(hole: number, from: number): void {
    const times = this.#times;
    const orders = this.#orders;
    const slots = this.#slots;
    const size = this.#size;
    const time = times[from] ?? 0;
    const order = orders[from] ?? 0;
    const slot = slots[from] ?? 0;
    let place = hole;
    for (;;) {
      const first = place * arity + 1;
      if (first >= size) break;
      const end = first + arity < size ? first + arity : size;
      let best = first;
      let bestTime = times[first] ?? 0;
      for (let child = first + 1; child < end; child++) {
        const childTime = times[child] ?? 0;
        if (childTime > bestTime) continue;
        if (childTime === bestTime && (orders[child] ?? 0) > (orders[best] ?? 0)) continue;
        best = child;
        bestTime = childTime;
      }
      if (time < bestTime || (time === bestTime && order < (orders[best] ?? 0))) break;
      times[place] = bestTime;
      orders[place] = orders[best] ?? 0;
      slots[place] = slots[best] ?? 0;
      place = best;
    }
    times[place] = time;
    orders[place] = order;
    slots[place] = slot;
  }

  #grow(): void {
    const length = this.#times.length * 2;
    const grow = <Column extends Float64Array | Uint32Array>(from: Column, to: Column): Column => {
      to.set(from);
      return to;
    };
    this.#times = grow(this.#times, new Float64Array(length));
    this.#orders = grow(this.#orders, new Float64Array(length));
    this.#slots = grow(this.#slots, new Uint32Array(length));
  }

  #rebuildWhenMostlyDead(): void {
    if (this.#size < rebuildLengthMin || this.#dead * 2 <= this.#size) return;
    let kept = 0;
    for (let place = 0; place < this.#size; place++) {
      const slot = this.#slots[place] ?? 0;
      if (this.#items[slot] === undefined) {
        this.#releaseSlot(slot);
        continue;
      }
      this.#times[kept] = this.#times[place] ?? 0;
      this.#orders[kept] = this.#orders[place] ?? 0;
      this.#slots[kept] = slot;
      kept += 1;
    }
    this.#size = kept;
    for (let place = (kept - 2) >> 2; place >= 0; place--) this.#sink(place, place);
  }
}
