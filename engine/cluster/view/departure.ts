/**
 * Which members know durably that this node has left: its last step. Each of them would otherwise wait for it for ever,
 * and no other member could join or leave.
 *
 * That it has left is on its own disk before it tells anybody, so no member hears what a crash could take back. It stays
 * until enough members have it on theirs, and goes on telling them in its next life where a crash comes between. A member
 * knows once it sees the ring without this node (ring-view-publisher.ts), or refuses this node as one that has left.
 */
import type { NodeId } from '../../base/ids.ts';

export class Departure {
  readonly #knowing = new Set<NodeId>();

  /** The member has it on its disk. */
  learned(member: NodeId): void {
    this.#knowing.add(member);
  }

  isKnownBy(member: NodeId): boolean {
    return this.#knowing.has(member);
  }
}
