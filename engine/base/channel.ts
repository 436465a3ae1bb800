/**
 * A bounded queue between two modules: the sender offers items without waiting, one reader takes them in order.
 *
 * Bounded by count and by bytes. An item that does not fit is refused at once (`full`): this is where overload is
 * noticed and counted. `close` refuses further items (`closed`) and lets the reader drain the accepted ones.
 */
import { assert } from './assert.ts';
import { Deferred } from './deferred.ts';

/** Result of `trySend`: accepted, refused because a bound is reached, or refused because the channel is closed. */
export type SendOutcome = 'ok' | 'full' | 'closed';

/** Bounds of a channel, both at least 1. */
export interface ChannelLimits {
  /** Most items queued. */
  readonly countMax: number;
  /** Most bytes queued, as stated to `trySend`. A single larger item still passes through an empty channel. */
  readonly bytesMax: number;
}

/** Returned by `ready` when the reader need not wait. */
const noWait = Promise.resolve();

/** The queue: any number of senders, one reader. */
export class Channel<T> {
  readonly #limits: ChannelLimits;
  #items: (T | undefined)[] = [];
  #sizes: number[] = [];
  #head = 0;
  #bytes = 0;
  #closed = false;
  #waiter: Deferred<void> | undefined;
  #reader: (() => void) | undefined;

  constructor(limits: ChannelLimits) {
    assert(limits.countMax > 0 && limits.bytesMax > 0, 'a channel holds at least one item and one byte');
    this.#limits = limits;
  }

  /** Items accepted and not yet taken. */
  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Bytes of the items accepted and not yet taken. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether `close` has been called; accepted items may still be queued. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether an item that counts `bytes` bytes fits now. */
  hasRoom(bytes = 0): boolean {
    const count = this.length;
    return count < this.#limits.countMax && (count === 0 || this.#bytes + bytes <= this.#limits.bytesMax);
  }

  /** Offers an item that counts `bytes` bytes. Never waits, never throws. */
  trySend(item: T, bytes = 0): SendOutcome {
    if (this.#closed) return 'closed';
    if (!this.hasRoom(bytes)) return 'full';
    this.#items.push(item);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    this.#wake();
    return 'ok';
  }

  /** Takes the next item; undefined if none is queued now. */
  tryReceive(): T | undefined {
    const count = this.length;
    if (count === 0) return undefined;
    if (count === 1 && this.#head === 0) return this.#receiveOnly();
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#bytes -= this.#sizes[this.#head] ?? 0;
    this.#head += 1;
    this.#compact();
    return item;
  }

  /**
   * The usual case: a single queued item. Emptying an array by setting its length would be a call out of JavaScript.
   */
  #receiveOnly(): T | undefined {
    this.#bytes -= this.#sizes.pop() ?? 0;
    return this.#items.pop();
  }

  /**
   * Resolves when an item is queued or the channel is closed; the reader then calls `tryReceive` to see which. One
   * waiter at a time (`AssertionError` otherwise).
   */
  ready(): Promise<void> {
    if (this.length > 0 || this.#closed) return noWait;
    assert(this.#waiter === undefined && this.#reader === undefined, 'a channel has one reader');
    this.#waiter = new Deferred<void>();
    return this.#waiter.promise;
  }

  /**
   * As `ready`, for a reader on a hot path: calls `reader` once, as a microtask, exactly when a promise of `ready`
   * would have resumed it. `reader` must not throw.
   */
  whenReady(reader: () => void): void {
    assert(this.#waiter === undefined && this.#reader === undefined, 'a channel has one reader');
    this.#reader = reader;
    if (this.length > 0 || this.#closed) this.#wake();
  }

  /** Refuses further items; the reader can still take the accepted ones. */
  close(): void {
    this.#closed = true;
    this.#wake();
  }

  #wake(): void {
    const waiter = this.#waiter;
    const reader = this.#reader;
    this.#waiter = undefined;
    this.#reader = undefined;
    waiter?.resolve();
    if (reader !== undefined) void noWait.then(reader, reader);
  }

  #compact(): void {
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#sizes.length = 0;
      this.#head = 0;
    } else if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#sizes = this.#sizes.slice(this.#head);
      this.#head = 0;
    }
  }
}
