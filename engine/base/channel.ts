/**
 * A bounded queue between two rooms: one side offers without waiting, the other takes in order.
 *
 * Bounded by count and by bytes; what does not fit is refused on the spot (`full`), which is where overload is
 * noticed and counted. Closing refuses further items (`closed`) and lets the reader drain what was accepted.
 */
import { assert } from './assert.ts';
import { Deferred } from './deferred.ts';

export type SendOutcome = 'ok' | 'full' | 'closed';

export interface ChannelLimits {
  /** Items at most. */
  readonly countMax: number;
  /** Bytes at most, as given to `trySend`. One item larger than this still passes through an empty channel. */
  readonly bytesMax: number;
}

/** What is there already is not waited for. */
const noWait = Promise.resolve();

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

  /** Their bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Offers an item of `bytes` bytes. Never waits, never throws. */
  trySend(item: T, bytes = 0): SendOutcome {
    if (this.#closed) return 'closed';
    const count = this.length;
    if (count >= this.#limits.countMax) return 'full';
    if (count > 0 && this.#bytes + bytes > this.#limits.bytesMax) return 'full';
    this.#items.push(item);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    this.#wake();
    return 'ok';
  }

  /** The next item, or undefined when there is none now. */
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

  /** Mostly one waits. To empty an array by its length would be a call out of JavaScript. */
  #receiveOnly(): T | undefined {
    this.#bytes -= this.#sizes.pop() ?? 0;
    return this.#items.pop();
  }

  /** Resolves when there is an item or the channel is closed, which the reader then sees; one waiter at a time. */
  ready(): Promise<void> {
    if (this.length > 0 || this.#closed) return noWait;
    assert(this.#waiter === undefined && this.#reader === undefined, 'a channel has one reader');
    this.#waiter = new Deferred<void>();
    return this.#waiter.promise;
  }

  /**
   * The same for a reader on a hot path, who is called instead, once, in a turn of its own, just when one who waits
   * would go on. It must not throw.
   */
  whenReady(reader: () => void): void {
    assert(this.#waiter === undefined && this.#reader === undefined, 'a channel has one reader');
    this.#reader = reader;
    if (this.length > 0 || this.#closed) this.#wake();
  }

  /** Refuses further items; what was accepted can still be taken. */
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
