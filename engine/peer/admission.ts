/**
 * Who may talk to this node beyond what every greeting is checked for (handshake.ts). The plane asks; whoever knows the
 * members decides.
 */
import type { NodeId } from '../base/ids.ts';
import type { Refusal } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';

export interface Admission {
  /**
   * Why a node that greets is refused, or undefined when it is welcome. `rival`: another process of its name seems to
   * be connected. A refusal by `sameName` has that process probed: a dead one's connections break by it, and the next
   * greeting finds no rival.
   */
  judge(hello: Hello, rival: boolean): Refusal | undefined;
  /** The node that greeted is welcome, and its connection is open: what its greeting tells of the ring is taken over. */
  admitted(hello: Hello): void;
  /** A peer will not talk to this node, and says why. */
  refused(by: NodeId, refusal: Refusal): void;
}

/** A connection to another process, open as far as is known here. */
export interface Rival {
  /** Sends what a dead process's machine answers with a reset. */
  probe(): void;
}
