/**
 * Which members know durably that this node has left. A member that does not know would wait for this node forever, and
 * no other member could join or leave.
 *
 * The node's own disk has that it left before any member hears of it, so no member hears what a crash could take back.
 * The node stays until enough members have it on their disks, and its next incarnation goes on telling them if it
 * crashes before. A member knows once its ring view is without this node (ring-view-publisher.ts), or once it refuses
 * this node as one that has left.
 */
import type { NodeId } from '../../base/ids.ts';

/** The members that know that this node has left. */
export class Departure {
  readonly #knowing = new Set<NodeId>();

  /** Records that the member has it on its disk. */
  learned(member: NodeId): void {
    this.#knowing.add(member);
  }

  /** True if the member has it on its disk. */
  isKnownBy(member: NodeId): boolean {
    return this.#knowing.has(member);
  }
}
