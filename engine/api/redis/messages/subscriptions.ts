/**
 * The subscriptions of one node's clients: which connections get the messages of a channel, of a shard channel, or of
 * the channels that match a pattern. Delivers messages to them in the order of its calls.
 *
 * Bounded: subscriptions per connection, bytes of all names, and bytes of all distinct patterns, since each message is
 * compared with every pattern.
 */
import type { ByteString } from '../../../base/ids.ts';
import { bytesOf } from '../../../base/ids.ts';
import { compileGlob } from '../glob.ts';
import { Refusal } from '../refusals.ts';
import type { RespVersion } from '../replies.ts';
import type { Message } from './message.ts';
import { EncodedMessage } from './message.ts';

/** What a subscription names. */
export type SubscriptionKind = 'channel' | 'pattern' | 'shard';

/** All kinds, for metrics. */
export const subscriptionKinds: readonly SubscriptionKind[] = ['channel', 'pattern', 'shard'];

/** Bounds of the subscriptions of one node. */
export interface SubscriptionLimits {
  /** The most subscriptions of one connection, of all kinds together. */
  readonly perConnectionMax: number;
  /** The most bytes of the names of all subscriptions, each with its overhead. */
  readonly bytesMax: number;
  /** The most bytes of all distinct patterns, each with its overhead. */
  readonly patternBytesMax: number;
}

/** Bytes that a subscription takes beside its name, about. */
export const overheadBytes = 64;

/** The bounds of a node. */
export const subscriptionLimits: SubscriptionLimits = {
  perConnectionMax: 10_000,
  bytesMax: 64 * 1024 * 1024,
  patternBytesMax: 1024 * 1024,
};

/** A connection as messages reach it. */
export interface Subscriber {
  readonly version: RespVersion;
  /** Takes a message's bytes, which must not change afterwards. False if the connection gets no more messages. */
  push(bytes: Buffer): boolean;
  /** Writes what `push` has taken. */
  flushPushes(): void;
}

interface Pattern {
  readonly matches: (name: string) => boolean;
  readonly subscribers: Set<Subscriber>;
}

/** The subscriptions of one node. */
export class Subscriptions {
  readonly limits: SubscriptionLimits;
  readonly #channels = new Map<ByteString, Set<Subscriber>>();
  readonly #shards = new Map<ByteString, Set<Subscriber>>();
  readonly #patterns = new Map<ByteString, Pattern>();
  readonly #counts: Record<SubscriptionKind, number> = { channel: 0, pattern: 0, shard: 0 };
  #bytes = 0;
  #patternBytes = 0;

  constructor(limits = subscriptionLimits) {
    this.limits = limits;
  }

  /** Subscriptions of one kind now, over all connections. */
  count(kind: SubscriptionKind): number {
    return this.#counts[kind];
  }

  /** Channels that have a subscriber, oldest first. */
  channels(isShard: boolean): Iterable<ByteString> {
    return this.#mapOf(isShard).keys();
  }

  /** Distinct patterns, oldest first. */
  patterns(): Iterable<ByteString> {
    return this.#patterns.keys();
  }

  /** Subscribers of one channel, not counting those of patterns. */
  subscribersOf(channel: ByteString, isShard: boolean): number {
    return this.#mapOf(isShard).get(channel)?.size ?? 0;
  }

  /** The number of subscriptions that a message would go to now. */
  reachOf({ channel, isShard }: Message): number {
    let count = this.subscribersOf(channel, isShard);
    if (isShard) return count;
    for (const { matches, subscribers } of this.#patterns.values()) {
      if (matches(channel)) count += subscribers.size;
    }
    return count;
  }

  /**
   * Throws `Refusal` if these names, which the subscriber does not have, would exceed a bound of the node. Nothing has
   * been added then.
   */
  checkRoom(kind: SubscriptionKind, names: readonly ByteString[]): void {
    const { bytesMax, patternBytesMax } = this.limits;
    const bytes = names.reduce((sum, name) => sum + name.length + overheadBytes, this.#bytes);
    if (bytes > bytesMax) {
      throw new Refusal(
        `ERR the subscriptions of this node's clients would take more than ${bytesMax} bytes`,
      );
    }
    if (kind !== 'pattern') return;
    const fresh = names.filter((name) => !this.#patterns.has(name));
    const patternBytes = fresh.reduce((sum, name) => sum + name.length + overheadBytes, this.#patternBytes);
    if (patternBytes > patternBytesMax) {
      throw new Refusal(
        `ERR the patterns of this node's clients would take more than ${patternBytesMax} bytes`,
      );
    }
  }

  /** Adds a subscription that the subscriber does not have. */
  add(kind: SubscriptionKind, name: ByteString, subscriber: Subscriber): void {
    this.#setOf(kind, name).add(subscriber);
    this.#counts[kind] += 1;
    this.#bytes += name.length + overheadBytes;
  }

  /** Removes a subscription that the subscriber has. */
  remove(kind: SubscriptionKind, name: ByteString, subscriber: Subscriber): void {
    const subscribers = this.#setOf(kind, name);
    subscribers.delete(subscriber);
    this.#counts[kind] -= 1;
    this.#bytes -= name.length + overheadBytes;
    if (subscribers.size > 0) return;
    if (kind !== 'pattern') this.#mapOf(kind === 'shard').delete(name);
    else if (this.#patterns.delete(name)) this.#patternBytes -= name.length + overheadBytes;
  }

  /**
   * Delivers messages in order. Returns for each the number of subscriptions that it went to: a connection that
   * subscribes to a channel and to a pattern counts twice, as it gets the message twice.
   */
  deliver(messages: readonly Message[]): readonly number[] {
    const touched = new Set<Subscriber>();
    const counts = messages.map((message) => this.#deliverOne(message, touched));
    for (const subscriber of touched) subscriber.flushPushes();
    return counts;
  }

  #deliverOne(message: Message, touched: Set<Subscriber>): number {
    const { channel, isShard } = message;
    const direct = this.#mapOf(isShard).get(channel);
    if (direct === undefined && (isShard || this.#patterns.size === 0)) return 0;
    const encoded = new EncodedMessage(message);
    let count = 0;
    const push = (subscriber: Subscriber, bytes: Buffer): void => {
      if (!subscriber.push(bytes)) return;
      touched.add(subscriber);
      count += 1;
    };
    for (const subscriber of direct ?? []) push(subscriber, encoded.plain(subscriber.version));
    if (isShard) return count;
    for (const [pattern, { matches, subscribers }] of this.#patterns) {
      if (!matches(channel)) continue;
      const forms: (Buffer | undefined)[] = [];
      for (const subscriber of subscribers) {
        const { version } = subscriber;
        push(subscriber, (forms[version] ??= encoded.matched(version, pattern)));
      }
    }
    return count;
  }

  #mapOf(isShard: boolean): Map<ByteString, Set<Subscriber>> {
    return isShard ? this.#shards : this.#channels;
  }

  #setOf(kind: SubscriptionKind, name: ByteString): Set<Subscriber> {
    if (kind === 'pattern') return this.#patternOf(name).subscribers;
    const map = this.#mapOf(kind === 'shard');
    const known = map.get(name);
    if (known !== undefined) return known;
    const made = new Set<Subscriber>();
    map.set(name, made);
    return made;
  }

  #patternOf(name: ByteString): Pattern {
    const known = this.#patterns.get(name);
    if (known !== undefined) return known;
    const made: Pattern = { matches: compileGlob(bytesOf(name)), subscribers: new Set() };
    this.#patterns.set(name, made);
    this.#patternBytes += name.length + overheadBytes;
    return made;
  }
}
