/**
 * The log door: structured events with dotted names in the past tense (`store.segment.rotated`) and flat, typed
 * fields. On the machine they become JSON lines; in the world they are the trace, which faults and checks listen to
 * and whose digest is part of the run's identity.
 */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

export const logLevels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error'];

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export interface Log {
  /** True when events of this level go anywhere: ask before building fields on a hot path. */
  enabled(level: LogLevel): boolean;
  event(level: LogLevel, name: string, fields?: LogFields): void;
}
