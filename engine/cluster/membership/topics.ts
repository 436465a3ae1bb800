/**
 * What gossip tells beside who is there: for each topic a digest of what the sender knows. Whoever keeps a topic
 * fetches what it lacks by its own words; gossip only says that somebody knows something else.
 */
import type { NodeId } from '../../base/ids.ts';
import type { News } from './gossip-messages.ts';

/** Something that all nodes shall know. */
export interface Topic {
  /** Names what this node knows, in at most 256 characters; empty for nothing. */
  digest(): string;
  /** What a peer knows; told at every round, known or new. */
  heard(peer: NodeId, digest: string): void;
}

export class Topics {
  readonly #topics = new Map<string, Topic>();

  /** From now on gossip tells of it. At most 16 topics; a name is one node's word to another and stays. */
  add(name: string, topic: Topic): void {
    this.#topics.set(name, topic);
  }

  news(): readonly News[] {
    return [...this.#topics].map(([topic, kept]) => ({ topic, digest: kept.digest() }));
  }

  /** Topics that this version does not know are none of its business. */
  told(from: NodeId, news: readonly News[]): void {
    for (const { topic, digest } of news) this.#topics.get(topic)?.heard(from, digest);
  }
}
