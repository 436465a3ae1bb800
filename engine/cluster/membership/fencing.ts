/**
 * Whether this node is a member as far as others say. One that was replaced or has left, and is started again, or one
 * that was started without `join: joining`, believes in its own part of the ring, and nobody will ever take from it what
 * is written there: a level that one copy satisfies would be answered with a write that is lost.
 *
 * So a node that a peer refuses as no member serves nobody, unless another peer talks to it: a peer with an empty disk
 * and an old list may not know yet who has joined since. The next link that a peer accepts ends it.
 */
import type { NodeId } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';

export class Fencing {
  readonly #log: Io['log'];
  readonly #isHeard: () => boolean;
  /** Who said last that this node is no member. */
  #by: NodeId | undefined;

  /** `isHeard`: a link to some peer is open. What is thought of peers does not count: it outlasts a pause. */
  constructor(log: Io['log'], isHeard: () => boolean) {
    this.#log = log;
    this.#isHeard = isHeard;
  }

  /** Nothing speaks against this node's serving what it believes to own. */
  get isMember(): boolean {
    return this.#by === undefined || this.#isHeard();
  }

  disowned(by: NodeId): void {
    if (this.#by === undefined) {
      const detail =
        'no member of the cluster, says a peer: this node serves nothing until one talks to it. A new node starts with join: joining; one that has left or was replaced does so with an empty data_dir';
      this.#log.event('error', 'membership.disowned', { by, detail });
    }
    this.#by = by;
  }

  /** A peer has accepted this node. */
  accepted(by: NodeId): void {
    if (this.#by === undefined) return;
    this.#by = undefined;
    this.#log.event('warn', 'membership.accepted', { by });
  }
}
