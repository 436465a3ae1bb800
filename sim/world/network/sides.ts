/** What the two sides of a connection are told apart by, and the numbers of their ends in the trace. */
import type { Address, CloseReason } from '../../../engine/io/network.ts';
import type { Incarnation } from '../cluster/incarnation.ts';
import type { Machine } from './machine.ts';
import type { ConnectionEnd } from '../core/watchers.ts';

/** Where a side is, whose it is, and what it calls the other. */
export interface Side {
  readonly machine: Machine;
  readonly life: Incarnation;
  readonly remote: Address;
  readonly side: ConnectionEnd['side'];
  /** Where the server's side listens. */
  readonly port: number;
}

/** By their numbers in the digest. */
export const closeReasons: readonly CloseReason[] = ['ended', 'reset', 'timedOut', 'closedHere'];
