/**
 * Fences a node that is not a member by what its peers say. That is a node that was replaced or has left and is started
 * again, or one that was started without `join: joining`. It believes in its own part of the ring, but no other node
 * will ever fetch what is written there. A level that one copy satisfies would acknowledge writes that are lost.
 *
 * So a node that a peer refuses as no member serves no requests, unless another peer has a link to it: a peer with an
 * empty disk and an old list may not know yet which nodes have joined since. The next link that a peer accepts ends the
 * fencing.
 */
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Io } from '../../io/io.ts';

/** The fencing of one node. */
export class Fencing {
  readonly #log: Io['log'];
  readonly #isHeard: () => boolean;
  /** The peer that last refused this node as no member; undefined while none has. */
  #by: NodeId | undefined;

  /** `isHeard`: true if a link to some peer is open. The peers' states do not count: they outlast a pause. */
  constructor(log: Io['log'], isHeard: () => boolean) {
    this.#log = log;
    this.#isHeard = isHeard;
  }

  /** True if nothing keeps this node from serving what it believes to own. */
  get isMember(): boolean {
    return this.#by === undefined || this.#isHeard();
  }

  /** The peer `by` has refused this node as no member. Logs the first time. */
  disowned(by: NodeId): void {
    if (this.#by === undefined) {
      sometimes('membership.disowned');
      const detail =
        'no member of the cluster, says a peer: this node serves nothing until one talks to it. A new node starts with join: joining; one that has left or was replaced does so with an empty data_dir';
      this.#log.event('error', 'membership.disowned', { by, detail });
    }
    this.#by = by;
  }

  /** A peer has accepted this node's link: it is a member after all. */
  accepted(by: NodeId): void {
    if (this.#by === undefined) return;
    sometimes('membership.accepted-again');
    this.#by = undefined;
    this.#log.event('warn', 'membership.accepted', { by });
  }
}
