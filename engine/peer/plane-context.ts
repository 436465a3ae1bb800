/** The services that all parts of a plane share. */
import type { Io } from '../io/io.ts';
import type { Refusal } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';
import type { ChunkPool } from './wire/chunk-pool.ts';
import type { Admission } from './admission.ts';
import type { DeadlineWheel } from './deadlines.ts';
import type { PeerObserver } from './observer.ts';
import type { PeerTarget, PlaneOptions } from './options.ts';
import type { Pending, PendingPool } from './pending.ts';
import type { Heartbeats } from './heartbeat.ts';
import type { Refusals } from './refusals.ts';

/** The id of the plane's own pings; no request has it. */
export const pingId = 0;

/** The shared services of one plane. */
export interface PlaneContext {
  readonly io: Io;
  readonly options: PlaneOptions;
  readonly observer: PeerObserver;
  readonly admission: Admission;
  readonly refusals: Refusals;
  readonly wheel: DeadlineWheel<Pending>;
  readonly pool: PendingPool;
  readonly chunks: ChunkPool;
  readonly pulses: Heartbeats;
  /** The plane's own ping and its answer; these frames never change. */
  readonly pingFrame: Buffer;
  readonly pongFrame: Buffer;
  /** This node's current greeting. */
  hello: Hello;
  /** The frame of `hello`; it never changes. */
  greeting(): Buffer;
  /**
   * Why a node with this greeting is refused; undefined if it is admitted. `called`: the peer that this node meant to
   * reach.
   */
  judge(hello: Hello, called: PeerTarget | undefined): Refusal | undefined;
}
