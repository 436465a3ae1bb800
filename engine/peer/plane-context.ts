/** What the parts of a plane share. */
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
  /** The plane's own ping, and the answer to it; nobody changes them. */
  readonly pingFrame: Buffer;
  readonly pongFrame: Buffer;
  /** What this node says of itself now. */
  hello: Hello;
  /** The frame of `hello`, which nobody changes. */
  greeting(): Buffer;
  /** Why whoever greets so is refused, or undefined. `called`: the peer that this node meant to reach. */
  judge(hello: Hello, called: PeerTarget | undefined): Refusal | undefined;
}
