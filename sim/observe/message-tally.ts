/**
 * Counts publish and subscribe on the Redis connections of one incarnation, from the wire: what clients published, the
 * messages that the process wrote to subscribers, and the subscriptions that it has confirmed. `RedisObserver` feeds it.
 */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import type { MessageTruth } from '../check/metrics/reconcile/account.ts';

/** Kinds of subscriptions by what precedes `subscribe` in their commands. */
const kinds: Readonly<Record<string, keyof MessageTruth['subscriptions']>> = {
  '': 'channel',
  p: 'pattern',
  s: 'shard',
};

/** One connection's part. */
export class ConnectionMessages {
  readonly subscribed = { channel: new Set<string>(), pattern: new Set<string>(), shard: new Set<string>() };
  /** Messages between MULTI and EXEC. */
  queued = 0;

  /** Subscriptions now. */
  get count(): number {
    const { channel, pattern, shard } = this.subscribed;
    return channel.size + pattern.size + shard.size;
  }
}

/** How many replies a command has, and how many messages it publishes if it succeeds. */
export interface MessageCommand {
  readonly replies: number;
  readonly publishes: number;
}

/** The publish and subscribe of one incarnation. */
export class MessageTally {
  #published = 0;
  /** Messages of commands that were heard and not answered. */
  #pending = 0;
  #delivered = 0;
  #dropped = 0;
  readonly #subscriptions = { channel: 0, pattern: 0, shard: 0 };

  get truth(): MessageTruth {
    return {
      published: this.#published,
      unanswered: this.#pending,
      delivered: this.#delivered,
      dropped: this.#dropped,
      subscriptions: { ...this.#subscriptions },
    };
  }

  /** A command has arrived. `inMulti`: behind MULTI. */
  heard(own: ConnectionMessages, request: readonly Buffer[], inMulti: boolean): MessageCommand {
    const name = nameOf(request[0]);
    const publishes = name === 'publish' || name === 'spublish' ? 1 : 0;
    if (inMulti && publishes > 0) {
      own.queued += 1;
      return { replies: 1, publishes: 0 };
    }
    const ended = name === 'exec' ? own.queued : 0;
    if (name === 'multi' || name === 'exec' || name === 'discard') own.queued = 0;
    this.#pending += publishes + ended;
    const replies = /^[ps]?(un)?subscribe$/u.test(name) ? Math.max(1, request.length - 1) : 1;
    return { replies, publishes: publishes + ended };
  }

  /** A command is answered. */
  answered({ publishes }: MessageCommand, reply: Reply): void {
    this.#pending -= publishes;
    if (publishes > 0 && (reply.kind === 'integer' || reply.kind === 'array')) this.#published += publishes;
  }

  /** Whether the process wrote this without being asked. Counts it, and confirmations of subscriptions. */
  takes(own: ConnectionMessages, reply: Reply): boolean {
    const word = reply.kind === 'array' ? partOf(reply.items[0]) : '';
    const [, letter = '', ends, isMessage] = /^([ps]?)(?:(un)?subscribe|(message))$/u.exec(word) ?? [];
    const kind = kinds[letter];
    if (word === '' || kind === undefined || reply.kind !== 'array') return false;
    if (isMessage !== undefined) {
      if (own.count === 0) return false;
      this.#delivered += 1;
      return true;
    }
    if (/subscribe$/u.test(word)) this.#changed(own, kind, partOf(reply.items[1]), ends === undefined);
    return false;
  }

  /** The process ends a connection, and nothing that it has heard tells it to. Returns whether it drops a subscriber. */
  left(own: ConnectionMessages): boolean {
    if (own.count === 0) return false;
    this.#dropped += 1;
    return true;
  }

  /** The connection is over. */
  closed(own: ConnectionMessages): void {
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      this.#subscriptions[kind] -= own.subscribed[kind].size;
      own.subscribed[kind].clear();
    }
  }

  #changed(
    own: ConnectionMessages,
    kind: keyof MessageTruth['subscriptions'],
    name: string,
    begins: boolean,
  ): void {
    const names = own.subscribed[kind];
    if (names.has(name) === begins) return;
    if (begins) names.add(name);
    else names.delete(name);
    this.#subscriptions[kind] += begins ? 1 : -1;
  }
}

function nameOf(word: Buffer | undefined): string {
  return word?.toString('latin1').toLowerCase() ?? '';
}

function partOf(reply: Reply | undefined): string {
  return reply?.kind === 'bulk' ? reply.bytes.toString('latin1') : '';
}
