/**
 * What gossip spreads beside the members: for each topic, a digest of what the sender knows. Gossip only says that a
 * peer knows something else. The topic's own module then fetches what it lacks, with its own messages.
 */
import type { NodeId } from '../../base/ids.ts';
import type { News } from './gossip-messages.ts';

/** A topic: something that all nodes shall know. */
export interface Topic {
  /** A digest of what this node knows, of at most 256 characters; empty for nothing. */
  digest(): string;
  /** Called with a peer's digest at every round, whether it is new or not. */
  heard(peer: NodeId, digest: string): void;
}

/** The topics of one node. */
export class Topics {
  readonly #topics = new Map<string, Topic>();

  /** Gossip spreads the topic from now on. At most 16 topics. A name is part of the protocol and never changes. */
  add(name: string, topic: Topic): void {
    this.#topics.set(name, topic);
  }

  /** This node's digest of each topic. */
  news(): readonly News[] {
    return [...this.#topics].map(([topic, kept]) => ({ topic, digest: kept.digest() }));
  }

  /** Passes a peer's digests to their topics. Topics that this version does not know are ignored. */
  told(from: NodeId, news: readonly News[]): void {
    for (const { topic, digest } of news) this.#topics.get(topic)?.heard(from, digest);
  }
}
