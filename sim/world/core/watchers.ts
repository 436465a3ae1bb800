/**
 * Hooks for whoever keeps the books of a run: what passes the doors, told in the event in which it happens, just before
 * the engine hears of it. Watchers only look; they change neither the run nor its digest.
 */
import type { DiskFailure, DiskOperation } from '../../../engine/io/disk.ts';
import type { CloseReason, ConnectFailure } from '../../../engine/io/network.ts';
import type { FaultId } from './fault-log.ts';

/** One side of a connection. */
export interface ConnectionEnd {
  /** The connection's number, the same for both sides. */
  readonly id: number;
  readonly side: 'client' | 'server';
  readonly host: string;
  /** Which life of the host's process it belongs to. */
  readonly life: number;
  /** The other side's host. */
  readonly peer: string;
  /** Where the server's side listens. */
  readonly port: number;
}

export interface ConnectionWatcher {
  opened(end: ConnectionEnd): void;
  /** The process writes these bytes. */
  wrote(end: ConnectionEnd, bytes: Uint8Array): void;
  /** The process is handed these bytes. */
  heard(end: ConnectionEnd, bytes: Uint8Array): void;
  /** The process is told that the other side sends no more. */
  toldEnd(end: ConnectionEnd): void;
  /** The process ends or destroys the connection; only the first such call. */
  left(end: ConnectionEnd): void;
  /** The process is told that the connection is over. */
  closed(end: ConnectionEnd, reason: CloseReason): void;
  /** The process is told that its listener is closed: it is about to let go of the connections of that port. */
  listenerClosed?(host: string, life: number, port: number): void;
  /** The process is told that it could not connect. */
  connectFailed(host: string, life: number, peer: string, port: number, failure: ConnectFailure): void;
}

export interface DiskWatcher {
  /** A write of these bytes at `offset` begins. */
  writes?(host: string, life: number, path: string, chunks: readonly Uint8Array[], offset: number): void;
  /**
   * Bytes have been written; `content` is the file from its beginning to the end of those bytes, `whole` all of it (a
   * write behind these may have been answered before). Not to be kept.
   */
  wrote?(host: string, life: number, path: string, content: Buffer, from: number, whole: Buffer): void;
  /** A life is told that an operation failed. */
  failed?(host: string, life: number, operation: DiskOperation, path: string, failure: DiskFailure): void;
  /**
   * Bytes `from..to - 1` of a file are no longer what their writer believes, or were never made durable
   * (`lying-sync`). The path is empty when the whole disk is another one (`disk-wipe`, `disk-rollback`,
   * `foreign-disk`).
   */
  altered?(host: string, path: string, from: number, to: number, kind: FaultId): void;
  /** A read hands these altered bytes to a life. */
  handed?(host: string, life: number, path: string, from: number, to: number): void;
}
