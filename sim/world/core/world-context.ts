/** What every part of the world stands on: time, chance, the trace, the ledger, and the list of failures. */
import type { LogLevel } from '../../../engine/io/log.ts';
import type { HttpWays } from '../http/http-router.ts';
import type { FaultLog } from './fault-log.ts';
import type { WorldRandom } from './random.ts';
import type { Timeline } from './timeline.ts';
import type { Trace } from './trace.ts';
import type { Tuning } from './tuning.ts';
import type { WasmSupplies } from '../cluster/wasm-supplies.ts';

/** An error that nobody handled: out of an event, a task of `spawn`, or a promise. Anything but none is a bug. */
export interface WorldFailure {
  readonly atUs: number;
  /** `''` for the world's own. */
  readonly host: string;
  /** Where it came from: an event's name, a task's name, `promise`. */
  readonly what: string;
  readonly error: unknown;
}

/** A life, as far as its use of clocks is concerned. */
export interface ClockUser {
  readonly host: string;
  readonly number: number;
  /** How often it asked its clock door. */
  clockReadings: number;
  /** What of the machine it called, by name, each once. */
  readonly machineCalls: Set<string>;
  firstCallUs: number | undefined;
  /** Events that ran its code. */
  readonly eventCount: number;
}

/** Who runs code: a life. */
export interface Actor {
  readonly host: string;
  readonly alive: boolean;
  readonly machineCalls: Set<string>;
  firstCallUs: number | undefined;
  eventCount: number;
}

export interface WorldContext {
  /** Notes that a life has begun. */
  begin(life: ClockUser): void;
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly ledger: FaultLog;
  readonly tuning: Tuning;
  /** The run's first stream; every part forks its own by name. */
  readonly random: WorldRandom;
  readonly logLevel: LogLevel;
  readonly wasm: WasmSupplies;
  readonly httpWays: HttpWays;
  /** Notes whose code runs from now on (until the next event), so that a failure in it has a name. */
  enter(actor: Actor): void;
  /** Between two batches of events: code of the engine that runs now was woken by no door. */
  readonly outside: boolean;
  /** Enters a failure. `host` is `''` for the world's own. */
  fail(host: string, what: string, error: unknown): void;
}
