/**
 * The bundle of ports through which the engine reaches the outside: clock, network, disk, random and log, the HTTP
 * edge, the Wasm tools, and `spawn`. An entry point (`real/io.ts`) or the simulated world (`sim/world`) builds it once
 * and passes it down. There is no other way out.
 */
import type { Clock } from './clock.ts';
import type { Disk } from './disk.ts';
import type { Http } from './http.ts';
import type { Log } from './log.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';
import type { Tracing } from './tracing.ts';
import type { WasmTools } from './wasm-tools.ts';

/** Which assertions run: the cheap ones, or also those that cost more than a few comparisons. */
export type Checks = 'cheap' | 'all';

/** One node's ports. */
export interface Io {
  readonly clock: Clock;
  /** Connections with clients. */
  readonly network: Network;
  /** Connections with the other nodes: same promises as `network`, possibly other certificates. */
  readonly peerNetwork: Network;
  readonly disk: Disk;
  readonly random: Random;
  readonly log: Log;
  readonly http: Http;
  /** Reads module files and compiles module text. */
  readonly wasm: WasmTools;
  /** Takes the spans of sampled requests. Ports without it export none; the node says so if it is to trace. */
  readonly tracing?: Tracing;
  /**
   * Starts a background task whose end no caller awaits. A failure is logged as `task.failed` with `name` and counted
   * in `failedTasks`; success is silent.
   */
  spawn(name: string, task: () => Promise<void>): void;
  /** Number of `spawn` tasks that failed since the start. Any value but 0 indicates a bug. */
  failedTasks(): number;
  /** Which assertions of the engine run; the cheap ones always do (`base/assert.ts`). */
  readonly checks: Checks;
  /**
   * From now on, until the returned function is called, a failed assertion is logged as `assertion.failed`, counted, and
   * ends the node before any of its code runs again. An error of JavaScript itself that becomes the answer `Internal`
   * is logged as `program.failed`. A node watches from its start until it has stopped.
   */
  watchAssertions(): () => void;
  /** Number of assertions that failed while they were watched. Any value but 0 is a bug. */
  failedAssertions(): number;
  /** Whether client and peer connections are encrypted and authenticated (TLS). */
  readonly secured: { readonly clients: boolean; readonly peers: boolean };
  /** Incoming connections that failed in the TLS handshake since the start; no listener ever saw them. */
  failedHandshakes(): { readonly clients: number; readonly peers: number };
  /** Resident memory of the process in bytes; in the simulated world, the memory that the model accounts for. */
  residentBytes(): number;
}
