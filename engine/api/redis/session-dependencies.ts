/** What all sessions of one listener share. */
import type { ConnectionLimits } from '../session/client-session.ts';
import type { Batches } from './batches.ts';
import type { ListenerState } from './connection-commands.ts';
import type { Publications } from './messages/publications.ts';
import type { Keyspace } from './keyspace.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import type { RequestLimits } from './request-reader.ts';
import type { KeyQueue } from './key-queue.ts';
import type { KeyReads } from './key-reads.ts';
import type { Settlement } from './settlement.ts';

/** Bounds of one connection. */
export interface SessionLimits extends ConnectionLimits, RequestLimits {
  /** Commands between MULTI and EXEC. */
  readonly queuedMax: number;
  /** Bytes of messages that may wait for a subscriber to read them; one that lets more wait is disconnected. */
  readonly subscriberBytesMax: number;
}

/** The bounds of a node whose configuration states none. */
export const defaultSessionLimits: Omit<
  SessionLimits,
  'argumentBytesMax' | 'requestBytesMax' | 'messageUsMax' | 'takingUsMax' | 'subscriberBytesMax'
> = {
  argumentCountMax: 1024 * 1024,
  inFlightMax: 1024,
  owedBytesMax: 4 * 1024 * 1024,
  queuedMax: 10_000,
};

/** A logical database: the keys of one bucket. */
export interface Database {
  /** `RedisDependencies` with this bucket. */
  readonly parts: RedisDependencies;
  readonly batches: Batches;
  readonly keyspace: Keyspace;
}

/** What a session works with. */
export interface SessionDependencies {
  /** With the bucket of database 0; a database has its own. */
  readonly parts: RedisDependencies;
  readonly limits: SessionLimits;
  readonly turns: KeyQueue;
  readonly reads: KeyReads;
  readonly settlement: Settlement;
  /** By the number that SELECT takes. */
  readonly databases: readonly Database[];
  readonly listener: ListenerState;
  readonly publications: Publications;
  /** Throws a definite error while this node takes no messages and subscriptions of clients. */
  readonly admit: () => void;
}
