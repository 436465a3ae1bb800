/**
 * Keys whose primary has changed: whether the former one knows it, and has nothing under way there any more. It tells so
 * (publication.ts) behind all that it wrote until then, on the same way. False for a while when a member joins or leaves.
 */
import type { NodeId, Token } from '../base/ids.ts';
import type { Ownership } from './ownership.ts';

export interface HandoverParts {
  readonly self: NodeId;
  readonly ownership: Pick<Ownership, 'formerPrimaries'>;
  /** This node tells its peers what it sees itself. */
  readonly hasPublished: () => boolean;
  readonly agrees: (peer: NodeId) => boolean;
  readonly isRoutable: (peer: NodeId) => boolean;
}

export class Handover {
  readonly #parts: HandoverParts;

  constructor(parts: HandoverParts) {
    this.#parts = parts;
  }

  /** Whoever was the token's primary has let it go. */
  isOver(token: Token): boolean {
    const { self, ownership, agrees, hasPublished } = this.#parts;
    const former = ownership.formerPrimaries(token);
    return former.every(({ node }) => (node === self ? hasPublished() : agrees(node)));
  }

  /** One of those who have not and may do so soon, this node not among them. */
  awaited(token: Token): NodeId | undefined {
    const { self, ownership, agrees, isRoutable } = this.#parts;
    for (const { node } of ownership.formerPrimaries(token))
      if (node !== self && !agrees(node) && isRoutable(node)) return node;
    return undefined;
  }
}
