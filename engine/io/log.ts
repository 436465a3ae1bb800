/**
 * The log port: structured events with dotted names in the past tense (`store.segment.rotated`) and flat, typed fields.
 * On a machine they become JSON lines. In the simulated world they are the trace: faults and checks react to it, and
 * its digest is part of a run's identity.
 */

/** Severity of an event. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** All levels, the least severe first. */
export const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

/** An event's fields, by name. */
export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** The log of one node. */
export interface Log {
  /** Whether events of this level are recorded at all. Callers on hot paths ask before they build fields. */
  enabled(level: LogLevel): boolean;
  /** Records one event. */
  event(level: LogLevel, name: string, fields?: LogFields): void;
}
