/** The subscriptions of one connection, and the commands that change them: SUBSCRIBE, UNSUBSCRIBE and their forms. */
import type { ByteString } from '../../../base/ids.ts';
import { bytesOf } from '../../../base/ids.ts';
import type { Command } from '../commands.ts';
import { Refusal } from '../refusals.ts';
import { bulkReply, integerReply, nilReply } from '../replies.ts';
import type { Request } from '../request-reader.ts';
import { channelName, pushMark } from './message.ts';
import type { Subscriber, SubscriptionKind, Subscriptions } from './subscriptions.ts';

const kinds: readonly (readonly [suffix: string, kind: SubscriptionKind])[] = [
  ['psubscribe', 'pattern'],
  ['ssubscribe', 'shard'],
  ['subscribe', 'channel'],
];

/** What a command that subscribes or unsubscribes does: `punsubscribe` ends subscriptions to patterns. */
function actionOf(name: string): { readonly kind: SubscriptionKind; readonly ends: boolean } {
  const ends = name.includes('unsubscribe');
  const plain = ends ? name.replace('un', '') : name;
  return { kind: kinds.find(([given]) => given === plain)?.[1] ?? 'channel', ends };
}

/** The subscriptions of one connection. */
export class OwnSubscriptions {
  readonly #all: Subscriptions;
  readonly #subscriber: Subscriber;
  /** By kind, oldest first; made when the first subscription is. */
  #names: Readonly<Record<SubscriptionKind, Set<ByteString>>> | undefined;

  /** `subscriber` gets the messages; `all` has the subscriptions of the node. */
  constructor(all: Subscriptions, subscriber: Subscriber) {
    this.#all = all;
    this.#subscriber = subscriber;
  }

  /** Subscriptions now. A client in version 2 that has one may send few commands. */
  get count(): number {
    return this.#countOf('channel') + this.#countOf('pattern') + this.#countOf('shard');
  }

  /** Subscribes or unsubscribes, at once. Returns one reply for each name. Throws `Refusal`; nothing has changed then. */
  act({ name }: Command, request: Request): Buffer {
    const { kind, ends } = actionOf(name);
    const names = request.slice(1).map(channelName);
    if (!ends) this.#check(kind, names);
    else if (names.length === 0) names.push(...(this.#names?.[kind] ?? []));
    const replies = names.map((one) => {
      if (ends) this.#remove(kind, one);
      else this.#add(kind, one);
      return this.#reply(name, one, kind);
    });
    return replies.length === 0 ? this.#reply(name, undefined, kind) : Buffer.concat(replies);
  }

  /** Ends all subscriptions: RESET, or the connection has closed. */
  clear(): void {
    if (this.#names === undefined) return;
    for (const kind of ['channel', 'pattern', 'shard'] as const) {
      for (const name of this.#names[kind]) this.#all.remove(kind, name, this.#subscriber);
    }
    this.#names = undefined;
  }

  #countOf(kind: SubscriptionKind): number {
    return this.#names?.[kind].size ?? 0;
  }

  #check(kind: SubscriptionKind, names: readonly ByteString[]): void {
    const fresh = [...new Set(names)].filter((name) => this.#names?.[kind].has(name) !== true);
    const { perConnectionMax } = this.#all.limits;
    if (this.count + fresh.length > perConnectionMax) {
      throw new Refusal(`ERR a connection has at most ${perConnectionMax} subscriptions`);
    }
    this.#all.checkRoom(kind, fresh);
  }

  #add(kind: SubscriptionKind, name: ByteString): void {
    this.#names ??= { channel: new Set(), pattern: new Set(), shard: new Set() };
    if (this.#names[kind].has(name)) return;
    this.#names[kind].add(name);
    this.#all.add(kind, name, this.#subscriber);
  }

  #remove(kind: SubscriptionKind, name: ByteString): void {
    if (this.#names?.[kind].delete(name) === true) this.#all.remove(kind, name, this.#subscriber);
  }

  /** Shard channels are counted apart, as in Redis. `name`: undefined if there was none to unsubscribe from. */
  #reply(word: string, name: ByteString | undefined, kind: SubscriptionKind): Buffer {
    const { version } = this.#subscriber;
    const count =
      kind === 'shard' ? this.#countOf('shard') : this.#countOf('channel') + this.#countOf('pattern');
    return Buffer.concat([
      Buffer.from(`${pushMark(version)}3\r\n`),
      bulkReply(Buffer.from(word)),
      name === undefined ? nilReply(version) : bulkReply(bytesOf(name)),
      integerReply(count),
    ]);
  }
}
