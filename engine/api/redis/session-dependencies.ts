/** What the sessions of one listener share. */
import type { Batches } from './batches.ts';
import type { ListenerState } from './connection-commands.ts';
import type { Keyspace } from './keyspace.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import type { RequestLimits } from './request-reader.ts';
import type { KeyQueue } from './key-queue.ts';

export interface SessionLimits extends RequestLimits {
  /** Commands of one connection under way. */
  readonly inFlightMax: number;
  /** Bytes of replies that may wait for an earlier one before no further command is taken. */
  readonly owedBytesMax: number;
  /** Commands between MULTI and EXEC. */
  readonly queuedMax: number;
  /** Microseconds that a command may take to become whole once it has begun. */
  readonly messageUsMax: number;
  /** Microseconds in which a client has to take some of what waits for it. */
  readonly takingUsMax: number;
}

export const defaultSessionLimits: Omit<
  SessionLimits,
  'argumentBytesMax' | 'requestBytesMax' | 'messageUsMax' | 'takingUsMax'
> = {
  argumentCountMax: 1024 * 1024,
  inFlightMax: 1024,
  owedBytesMax: 4 * 1024 * 1024,
  queuedMax: 10_000,
};

export interface SessionDependencies {
  readonly parts: RedisDependencies;
  readonly limits: SessionLimits;
  readonly turns: KeyQueue;
  readonly batches: Batches;
  readonly keyspace: Keyspace;
  readonly listener: ListenerState;
}
