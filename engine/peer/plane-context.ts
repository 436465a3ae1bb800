/** What the parts of a plane share. */
import type { Io } from '../io/io.ts';
import type { Refusal } from '../wire/greetings.ts';
import type { Hello } from '../wire/messages.ts';
import type { ChunkPool } from '../wire/chunk-pool.ts';
import type { Admission } from './admission.ts';
import type { DeadlineWheel } from './deadlines.ts';
import type { PeerObserver } from './observer.ts';
import type { PeerTarget, PlaneOptions } from './options.ts';
import type { Pending, PendingPool } from './pending.ts';

export interface PlaneContext {
  readonly io: Io;
  readonly options: PlaneOptions;
  readonly observer: PeerObserver;
  readonly admission: Admission;
  readonly wheel: DeadlineWheel<Pending>;
  readonly pool: PendingPool;
  readonly chunks: ChunkPool;
  /** What this node says of itself now. */
  hello: Hello;
  /** Why whoever greets so is refused, or undefined. `called`: the peer that this node meant to reach. */
  judge(hello: Hello, called: PeerTarget | undefined): Refusal | undefined;
}
