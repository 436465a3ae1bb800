/**
 * Everything that the engine may know of the outside, in one bundle: the five doors, the HTTP edge, what
 * Wasm modules are made from, and `spawn`.
 * Built once by an entry point (engine/real) or by the world (sim/world) and handed down; there is no other way out.
 */
import type { Clock } from './clock.ts';
import type { Disk } from './disk.ts';
import type { Http } from './http.ts';
import type { Log } from './log.ts';
import type { Network } from './network.ts';
import type { Random } from './random.ts';
import type { WasmTools } from './wasm-tools.ts';

export interface Io {
  readonly clock: Clock;
  /** Toward clients. */
  readonly network: Network;
  /** Toward the other nodes: the same promises, perhaps with other certificates. */
  readonly peerNetwork: Network;
  readonly disk: Disk;
  readonly random: Random;
  readonly log: Log;
  readonly http: Http;
  /** What Wasm modules are made from. */
  readonly wasm: WasmTools;
  /**
   * Starts a conversation that nobody waits for. Its failure is never silent: it is logged as `task.failed` with the
   * task's name and counted (`failedTasks`). A task that ends without an error just ends.
   */
  spawn(name: string, task: () => Promise<void>): void;
  /** Tasks of `spawn` that failed since the start. Anything but 0 is a bug. */
  failedTasks(): number;
  /** What is said toward clients, and toward peers, nobody on the way can read or alter. */
  readonly secured: { readonly clients: boolean; readonly peers: boolean };
  /** Connections that never came to be, since their beginning was not as the door asks (TLS): nobody heard of them. */
  failedHandshakes(): { readonly clients: number; readonly peers: number };
  /** Resident memory of the process, in bytes (in the world: what the model accounts for). */
  residentBytes(): number;
}
