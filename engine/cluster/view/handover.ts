/**
 * Keys whose primary has changed: whether the former primary has handed them over. It tells its peers that it knows the
 * new ring (ring-view-publisher.ts) once nothing is under way there by the one before, behind all that it wrote until then, on the
 * same way. A replacement stands in for the dead node that was to hand over: it does so once it leads what it took over
 * (cluster/changes/replacement-takeover.ts). Nothing is handed over for longer than a moment only while a member joins or leaves.
 *
 * A member that joins stays in its last step until all of it is handed over: in the ring after that nobody can tell any
 * more who led its keys before, and a former primary that was away may come back with a vote on one of them.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { Ownership } from './ownership.ts';

export interface HandoverDependencies {
  readonly self: NodeId;
  readonly ownership: Pick<Ownership, 'formerPrimaries' | 'handingOver'>;
  /** This node tells its peers what it sees itself. */
  readonly hasPublished: () => boolean;
  readonly agrees: (peer: NodeId) => boolean;
  readonly isRoutable: (peer: NodeId) => boolean;
  /** The members between whom the ring is changing. */
  readonly movers: () => readonly MemberRecord[];
}

export class Handover {
  readonly #parts: HandoverDependencies;

  constructor(parts: HandoverDependencies) {
    this.#parts = parts;
  }

  /** The token's former primary has handed it over, and this node would find the new ring again after a crash. */
  isOver(token: Token): boolean {
    const { ownership, hasPublished } = this.#parts;
    const former = ownership.formerPrimaries(token);
    return former.length === 0 || (hasPublished() && former.every(({ node }) => this.#hasHandedOver(node)));
  }

  /** This node was the token's primary, by a ring that some may still go by. */
  isFormer(token: Token): boolean {
    const { self, ownership } = this.#parts;
    return ownership.formerPrimaries(token).some(({ node }) => node === self);
  }

  /** Former primaries that have not handed over yet; this node may be among them. */
  get open(): readonly NodeId[] {
    const nodes = this.#parts.ownership.handingOver.map(({ node }) => node);
    return nodes.filter((node) => !this.#hasHandedOver(node));
  }

  /** One of the token's former primaries that have not handed over and may do so soon, this node not among them. */
  awaited(token: Token): NodeId | undefined {
    const { self, ownership, isRoutable } = this.#parts;
    for (const { node } of ownership.formerPrimaries(token))
      if (node !== self && !this.#hasHandedOver(node) && isRoutable(node)) return node;
    return undefined;
  }

  #hasHandedOver(node: NodeId): boolean {
    const { self, agrees, hasPublished } = this.#parts;
    if (this.#isTakingOver(node)) return false;
    return node === self ? hasPublished() : agrees(node);
  }

  /** It replaces a dead node, and may not have carried out yet what that one had voted for. */
  #isTakingOver(node: NodeId): boolean {
    return this.#parts
      .movers()
      .some((one) => one.node === node && one.state === 'NORMAL' && one.replaces !== undefined);
  }
}
