/**
 * The handover of keys whose primary has changed. A former primary has handed over once it publishes the new ring view
 * (ring-view-publisher.ts). It does so only when nothing is under way there by the old ring, on the same link and after
 * everything that it wrote until then.
 *
 * A replacement hands over in place of the dead node, once it leads what it took over
 * (cluster/changes/replacement-takeover.ts). Only while a member joins or leaves does a handover take longer than a
 * moment.
 *
 * A joining member stays in its last step until every handover is over. In the ring after that step no node can tell
 * which node led its keys before. A former primary that was unreachable could then come back with a vote on one of
 * them.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { Ownership } from './ownership.ts';

/** What the handover reads. */
export interface HandoverDependencies {
  readonly self: NodeId;
  readonly ownership: Pick<Ownership, 'formerPrimaries' | 'handingOver'>;
  /** True if this node has published its current ring view. */
  readonly hasPublished: () => boolean;
  readonly agrees: (peer: NodeId) => boolean;
  readonly isRoutable: (peer: NodeId) => boolean;
  /** Members with a ring change under way. */
  readonly changingMembers: () => readonly MemberRecord[];
}

/** The handovers to and from this node. */
export class Handover {
  readonly #parts: HandoverDependencies;

  constructor(parts: HandoverDependencies) {
    this.#parts = parts;
  }

  /** True if the token's former primary has handed it over, and this node's own ring view is durable and published. */
  isOver(token: Token): boolean {
    const { ownership, hasPublished } = this.#parts;
    const former = ownership.formerPrimaries(token);
    return former.length === 0 || (hasPublished() && former.every(({ node }) => this.#hasHandedOver(node)));
  }

  /** True if this node was the token's primary by a ring that some nodes may still use. */
  isFormer(token: Token): boolean {
    const { self, ownership } = this.#parts;
    return ownership.formerPrimaries(token).some(({ node }) => node === self);
  }

  /** Former primaries that have not handed over yet; this node may be among them. */
  get open(): readonly NodeId[] {
    const nodes = this.#parts.ownership.handingOver.map(({ node }) => node);
    return nodes.filter((node) => !this.#hasHandedOver(node));
  }

  /**
   * A former primary of the token, other than this node, that has not handed over and is reachable. Undefined if there
   * is none.
   */
  awaited(token: Token): NodeId | undefined {
    const { self, ownership, isRoutable } = this.#parts;
    for (const { node } of ownership.formerPrimaries(token))
      if (node !== self && !this.#hasHandedOver(node) && isRoutable(node)) {
        sometimes('handover.awaited');
        return node;
      }
    return undefined;
  }

  #hasHandedOver(node: NodeId): boolean {
    const { self, agrees, hasPublished } = this.#parts;
    if (this.#isTakingOver(node)) return false;
    return node === self ? hasPublished() : agrees(node);
  }

  /** True if the node replaces a dead one and may not have completed that one's transactions yet. */
  #isTakingOver(node: NodeId): boolean {
    return this.#parts
      .changingMembers()
      .some((one) => one.node === node && one.state === 'NORMAL' && one.replaces !== undefined);
  }
}
