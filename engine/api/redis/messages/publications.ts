/**
 * Publish and subscribe of one node: delivers published messages to this node's subscribers, sends them to all peers,
 * takes those of peers, and answers about subscriptions.
 *
 * - **To all peers.** A node does not know which channels its peers have subscribers for; it sends every message to
 *   each. So a subscription counts from its confirmation on, on all nodes at once, and there is no table of
 *   subscriptions to agree on after a cut, a crash or a change of the ring. Redis Cluster does the same. A message costs
 *   a part of a batch per peer.
 * - **At most once.** Nothing is sent twice. A message is lost to the subscribers of a peer that is not connected, is
 *   too slow, or dies. Neither they nor the publisher are told, as in Redis.
 * - **Order.** A node numbers its messages, and each peer takes them in that order alone: it drops a message that comes
 *   behind a newer one, as from a connection that was replaced, or from an earlier incarnation.
 * - **The count** that PUBLISH answers is that of all subscriptions in the cluster that got the message, of nodes that
 *   answered within a second.
 */
import { Deferred } from '../../../base/deferred.ts';
import { LockstepError, asLockstepError } from '../../../base/errors.ts';
import type { ByteString, NodeId } from '../../../base/ids.ts';
import { bytesOf } from '../../../base/ids.ts';
import type { Io } from '../../../io/io.ts';
import type { PeerReply } from '../../../peer/wire/messages.ts';
import type { PeerLinks } from '../../../replication/peer-links.ts';
import { compileGlob } from '../glob.ts';
import type { Message } from './message.ts';
import type { PublishedBatch, Question } from './peer-codec.ts';
import {
  decodeCounts,
  decodeNames,
  decodePeerWords,
  encodeCounts,
  encodeMessage,
  encodeNames,
  encodeQuestion,
} from './peer-codec.ts';
import type { OutletDependencies } from './peer-outlet.ts';
import { PeerOutlet, answerUsMax, batchCountMax } from './peer-outlet.ts';
import { Subscriptions } from './subscriptions.ts';

/** What publish and subscribe needs of the node. */
export interface PublicationsDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  readonly links: PeerLinks;
  /** The other members, reachable or not. */
  readonly peers: () => readonly NodeId[];
  /** This node's incarnation number. */
  readonly generation: () => number;
  /** Bytes of names that one answer may have. */
  readonly answerBytesMax: number;
  /** Messages that one batch for a peer may have. */
  readonly pageItems: number;
}

/** Events of one incarnation, for metrics. */
export interface PublicationCounts {
  /** Messages that clients published here. */
  readonly published: number;
  /** Messages handed to connections of subscribers here, one per subscription. */
  readonly delivered: number;
  /** Messages that a peer did not confirm within a second, one per message and peer. */
  readonly unconfirmed: number;
  /** Messages of peers that came behind newer ones, and were dropped. */
  readonly outdated: number;
  /** Connections closed because their client did not read. */
  readonly droppedSubscribers: number;
}

/** Publish and subscribe of one node. */
export class Publications {
  readonly subscriptions: Subscriptions;
  readonly #parts: PublicationsDependencies;
  readonly #outletParts: OutletDependencies;
  /** The peers with messages under way. */
  readonly #outlets = new Map<NodeId, PeerOutlet>();
  /** The newest message of each peer. */
  readonly #newest = new Map<NodeId, { readonly generation: number; readonly last: number }>();
  #nextPlace = 1;
  #published = 0;
  #delivered = 0;
  #unconfirmed = 0;
  #outdated = 0;
  #droppedSubscribers = 0;

  constructor(parts: PublicationsDependencies, subscriptions = new Subscriptions()) {
    this.#parts = parts;
    this.subscriptions = subscriptions;
    this.#outletParts = {
      clock: parts.io.clock,
      links: parts.links,
      generation: parts.generation,
      batchCountMax: Math.min(batchCountMax, parts.pageItems),
      places: (count) => {
        const first = this.#nextPlace;
        this.#nextPlace += count;
        return first;
      },
      unconfirmed: (count) => {
        this.#unconfirmed += count;
      },
    };
  }

  /**
   * Publishes a message behind all earlier ones. Calls `done` once, perhaps within this call, with the number of
   * subscriptions that got it.
   */
  publish(message: Message, done: (count: number) => void): void {
    this.#published += 1;
    let count = this.#deliver([message])[0] ?? 0;
    const peers = this.#parts.peers();
    if (peers.length === 0) {
      done(count);
      return;
    }
    let left = peers.length;
    const encoded = encodeMessage(message);
    for (const peer of peers) {
      this.#outletTo(peer).send(encoded, (there) => {
        count += there;
        left -= 1;
        if (left === 0) done(count);
      });
    }
  }

  /** Counts a subscriber whose connection was closed because it did not read. */
  subscriberDropped(): void {
    this.#droppedSubscribers += 1;
  }

  /** The channels of all nodes that have a subscriber. Rejects with `TooLarge`. */
  async channels(isShard: boolean, pattern: ByteString | undefined): Promise<readonly ByteString[]> {
    return [...new Set(await this.#names({ kind: 'channels', isShard, pattern }))];
  }

  /** The number of subscribers of each channel on all nodes. */
  async subscribersOf(channels: readonly ByteString[], isShard: boolean): Promise<readonly number[]> {
    const own = channels.map((channel) => this.subscriptions.subscribersOf(channel, isShard));
    const replies = channels.length === 0 ? [] : await this.#ask({ kind: 'subscribers', isShard, channels });
    const others = replies.map((reply) => decodeCounts(reply, channels.length));
    return own.map((count, index) => others.reduce((sum, counts) => sum + (counts[index] ?? 0), count));
  }

  /** The number of distinct patterns on all nodes. */
  async patternCount(): Promise<number> {
    return new Set(await this.#names({ kind: 'patterns' })).size;
  }

  /** Handles a peer's message at once, so that messages stay in their order. Calls `reply` once. */
  answer(from: NodeId, words: Uint8Array, reply: (reply: PeerReply) => void): void {
    try {
      reply({ kind: 'pubsubAnswered', words: this.#answerTo(from, words) });
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      reply({ kind: 'failed', code, detail });
    }
  }

  /** What has happened so far. */
  get counts(): PublicationCounts {
    return {
      published: this.#published,
      delivered: this.#delivered,
      unconfirmed: this.#unconfirmed,
      outdated: this.#outdated,
      droppedSubscribers: this.#droppedSubscribers,
    };
  }

  #outletTo(peer: NodeId): PeerOutlet {
    const known = this.#outlets.get(peer);
    if (known !== undefined) return known;
    const made = new PeerOutlet(this.#outletParts, peer, () => this.#outlets.delete(peer));
    this.#outlets.set(peer, made);
    return made;
  }

  #deliver(messages: readonly Message[]): readonly number[] {
    const counts = this.subscriptions.deliver(messages);
    for (const count of counts) this.#delivered += count;
    return counts;
  }

  #answerTo(from: NodeId, words: Uint8Array): Buffer {
    const asked = decodePeerWords(words);
    switch (asked.kind) {
      case 'published':
        return encodeCounts(this.#take(from, asked));
      case 'subscribers':
        return encodeCounts(
          asked.channels.map((channel) => this.subscriptions.subscribersOf(channel, asked.isShard)),
        );
      default:
        return encodeNames(this.#ownNames(asked));
    }
  }

  /** Delivers those messages of a peer that are newer than all that it has sent. */
  #take(from: NodeId, { generation, first, messages }: PublishedBatch): readonly number[] {
    const newest = this.#newest.get(from);
    const isOld = newest !== undefined && newest.generation > generation;
    const last = newest?.generation === generation ? newest.last : 0;
    const oldCount = isOld ? messages.length : Math.min(messages.length, Math.max(0, last + 1 - first));
    this.#outdated += oldCount;
    const fresh = messages.slice(oldCount);
    if (fresh.length > 0) this.#newest.set(from, { generation, last: first + messages.length - 1 });
    const zeros = Array.from({ length: oldCount }, () => 0);
    return [...zeros, ...this.#deliver(fresh)];
  }

  /** The names of this node that a question asks for. Throws `TooLarge`. */
  #ownNames(question: Exclude<Question, { kind: 'subscribers' }>): readonly ByteString[] {
    const { subscriptions } = this;
    if (question.kind === 'patterns') return bounded(subscriptions.patterns(), this.#parts.answerBytesMax);
    const { isShard, pattern } = question;
    const matches = pattern === undefined ? () => true : compileGlob(bytesOf(pattern));
    return bounded(subscriptions.channels(isShard), this.#parts.answerBytesMax, matches);
  }

  async #names(question: Exclude<Question, { kind: 'subscribers' }>): Promise<readonly ByteString[]> {
    const own = this.#ownNames(question);
    const others = (await this.#ask(question)).map(decodeNames);
    return bounded([own, ...others].flat(), this.#parts.answerBytesMax);
  }

  /** The answers of the peers that answer within a second. Rejects with `TooLarge` if a peer does. */
  async #ask(question: Question): Promise<readonly Uint8Array[]> {
    const words = encodeQuestion(question);
    const answers = this.#parts.peers().map((peer) => {
      const answer = new Deferred<Uint8Array | undefined>();
      const outcome = this.#parts.links.request(peer, { kind: 'pubsub', words }, answerUsMax, (reply) => {
        if (reply.kind === 'pubsubAnswered') answer.resolve(Buffer.from(reply.words));
        else if (reply.kind === 'failed' && reply.code === 'TooLarge') {
          answer.reject(new LockstepError('TooLarge', reply.detail));
        } else answer.resolve(undefined);
      });
      if (outcome !== 'ok') answer.resolve(undefined);
      return answer.promise;
    });
    return (await Promise.all(answers)).filter((answer) => answer !== undefined);
  }
}

/** Those names that `matches` accepts. Throws `TooLarge` beyond `bytesMax`. */
function bounded(
  names: Iterable<ByteString>,
  bytesMax: number,
  matches: (name: string) => boolean = () => true,
): readonly ByteString[] {
  const found: ByteString[] = [];
  let bytes = 0;
  for (const name of names) {
    if (!matches(name)) continue;
    bytes += name.length + 8;
    if (bytes > bytesMax) {
      throw new LockstepError('TooLarge', `an answer has at most ${bytesMax} bytes of names`);
    }
    found.push(name);
  }
  return found;
}
