/** The two sides of a connection, and the numbers of close reasons in the trace. */
import type { Address, CloseReason } from '../../../engine/io/network.ts';
import type { Incarnation } from '../cluster/incarnation.ts';
import type { Machine } from './machine.ts';
import type { ConnectionEnd } from '../core/watchers.ts';

/** Machine and incarnation of a side, and the address of the other one. */
export interface Side {
  readonly machine: Machine;
  readonly life: Incarnation;
  readonly remote: Address;
  readonly side: ConnectionEnd['side'];
  /** The port on which the server's side listens. */
  readonly port: number;
}

/** Indexed by their numbers in the digest. */
export const closeReasons: readonly CloseReason[] = ['ended', 'reset', 'timedOut', 'closedHere'];
