/**
 * Which nodes may connect, beyond the checks that every greeting must pass (handshake.ts). The plane asks; the
 * membership decides.
 */
import type { NodeId } from '../base/ids.ts';
import type { Refusal } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';

/** Admits or refuses nodes that greet. Implemented by the membership. */
export interface Admission {
  /**
   * Why a node that greets is refused; undefined if it is admitted. `rival`: another process of its name seems to be
   * connected. The plane probes that process after a refusal with `sameName`: if it is dead, its connection breaks, and
   * the next greeting finds no rival.
   */
  judge(hello: Hello, rival: boolean): Refusal | undefined;
  /** The node that greeted is admitted and its connection is open. Takes over the ring view in its greeting. */
  admitted(hello: Hello): void;
  /** A peer has refused this node. */
  refused(by: NodeId, refusal: Refusal): void;
}

/** A connection to another process of the same name, open as far as this node knows. */
export interface Rival {
  /** Sends bytes that the machine of a dead process answers with a reset. */
  probe(): void;
}
