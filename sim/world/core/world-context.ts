/** What every part of the world builds on: time, randomness, the trace, the fault log, and the list of failures. */
import type { LogLevel } from '../../../engine/io/log.ts';
import type { HttpWays } from '../http/http-router.ts';
import type { FaultLog } from './fault-log.ts';
import type { WorldRandom } from './random.ts';
import type { Timeline } from './timeline.ts';
import type { Trace } from './trace.ts';
import type { Tuning } from './tuning.ts';
import type { WasmSupplies } from '../cluster/wasm-supplies.ts';

/** An error that no code handled: from an event, a task of `spawn`, or a promise. Every one is a bug. */
export interface WorldFailure {
  readonly atUs: number;
  /** `''` for the world's own. */
  readonly host: string;
  /** Where it came from: an event's name, a task's name, `promise`. */
  readonly what: string;
  readonly error: unknown;
}

/** An incarnation, as far as its use of clocks is concerned. */
export interface ClockUser {
  readonly host: string;
  readonly number: number;
  /** How often it read its clock port. */
  clockReadings: number;
  /** How many timers it has set. */
  timersSet: number;
  /** Names of the machine's functions that it called, each once. */
  readonly machineCalls: Set<string>;
  firstCallUs: number | undefined;
  /** Events that ran its code. */
  readonly eventCount: number;
}

/** The incarnation whose code runs. */
export interface Actor {
  readonly host: string;
  readonly alive: boolean;
  readonly machineCalls: Set<string>;
  firstCallUs: number | undefined;
  eventCount: number;
}

/** The world as its parts see it. */
export interface WorldContext {
  /** Notes that an incarnation has begun. */
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
  /** Notes whose code runs from now on (until the next event), so that a failure in it is attributed. */
  enter(actor: Actor): void;
  /** True between two batches of events: code of the engine that runs then was not woken through a port. */
  readonly outside: boolean;
  /** Records a failure. `host` is `''` for the world's own. */
  fail(host: string, what: string, error: unknown): void;
}
