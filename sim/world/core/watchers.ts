/**
 * Hooks for observers of a run: what passes the ports, reported within its event and just before the engine learns of
 * it. Watchers only look; they change neither the run nor its digest.
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
  /** The number of the incarnation that owns this side. */
  readonly life: number;
  /** The other side's host. */
  readonly peer: string;
  /** The port on which the server's side listens. */
  readonly port: number;
}

/** Observes the connections of all hosts. */
export interface ConnectionWatcher {
  opened(end: ConnectionEnd): void;
  /** The process writes these bytes. */
  wrote(end: ConnectionEnd, bytes: Uint8Array): void;
  /** A write of the process learns that the other side does not take what was written: `write` returns false. */
  full?(end: ConnectionEnd): void;
  /** The process receives these bytes. */
  heard(end: ConnectionEnd, bytes: Uint8Array): void;
  /** The process learns that the other side sends no more. */
  toldEnd(end: ConnectionEnd): void;
  /** The process ends or destroys the connection; only the first such call is reported. */
  left(end: ConnectionEnd): void;
  /** The process learns that the connection is over. */
  closed(end: ConnectionEnd, reason: CloseReason): void;
  /** The process learns that its listener is closed; it is about to drop the connections of that port. */
  listenerClosed?(host: string, life: number, port: number): void;
  /** The process learns that it could not connect. */
  connectFailed(host: string, life: number, peer: string, port: number, failure: ConnectFailure): void;
}

/** Observes one host's disk. */
export interface DiskWatcher {
  /** A write of these bytes at `offset` begins. */
  writes?(host: string, life: number, path: string, chunks: readonly Uint8Array[], offset: number): void;
  /**
   * Bytes have been written. `content` is the file up to the end of those bytes, `whole` is all of it (a later write
   * may have been answered before). Both are views that must not be kept. Once a write has gone elsewhere
   * (`misdirected-io`), both show what the writer believes to be in the file.
   */
  wrote?(host: string, life: number, path: string, content: Buffer, from: number, whole: Buffer): void;
  /** An incarnation learns that an operation failed. */
  failed?(host: string, life: number, operation: DiskOperation, path: string, failure: DiskFailure): void;
  /**
   * Bytes `from..to - 1` of a file are no longer what their writer believes, or were never made durable (`lying-sync`).
   * The path is empty if the whole disk was exchanged (`disk-wipe`, `disk-rollback`, `foreign-disk`).
   */
  altered?(host: string, path: string, from: number, to: number, kind: FaultId): void;
  /** A sync of these bytes is answered as done, and did nothing (`lying-sync`). `content` is a view up to `to`. */
  lied?(host: string, path: string, content: Buffer, from: number, to: number): void;
  /** A read returns these altered bytes to an incarnation. */
  handed?(host: string, life: number, path: string, from: number, to: number): void;
}
