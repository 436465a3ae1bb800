/** Types of the table of configuration keys. */
import type { ValueKind } from './values.ts';

/** The field's name in the file: `pb_listen` for `pbListen`. */
export function keyOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

/** Prefix of all variables that override keys. */
export const environmentPrefix = 'LOCKSTEP_';

/** The variable with the token that commands show to a node. It has the prefix but is no key. */
export const tokenVariable = 'LOCKSTEP_TOKEN';

/** How backups address a bucket of S3 (`real/s3/s3-settings.ts`). It has the prefix but is no key. */
const s3AddressingVariable = 'LOCKSTEP_S3_ADDRESSING';

/** The variables with the prefix that are read elsewhere: they are no faults where a node and commands share them. */
export const otherVariables: readonly string[] = [tokenVariable, s3AddressingVariable];

/** The field's name in the environment: `LOCKSTEP_PB_LISTEN` for `pbListen`. */
export function variableOf(field: string): string {
  return environmentPrefix + keyOf(field).toUpperCase();
}

/** One row: how the value is read, its default, and its help text. */
export interface ConfigKey {
  readonly kind: ValueKind<unknown>;
  /** The default as the file would give it; absent if the key is mandatory. */
  readonly fallback?: unknown;
  /**
   * What tests may set the key to beside its default: values that change how a node behaves and with which it keeps its
   * promises; or why they leave it alone.
   */
  readonly trial: Trial;
  /** One sentence for people. */
  readonly help: string;
}

/** Values as the file would give them, or the reason why tests have none. */
export type Trial = readonly (number | string | boolean)[] | Untried;

/** Tests never change the key. */
export interface Untried {
  /** One sentence: why not. */
  readonly untried: string;
}

/** Tests never change the key, for this reason. */
export function untried(reason: string): Untried {
  return { untried: reason };
}

/** Rows by field. */
export type KeyRows = Readonly<Record<string, ConfigKey>>;

/** The type of the values that a row's kind reads. */
export type ValueOf<Row extends ConfigKey> = Row['kind'] extends ValueKind<infer Value> ? Value : never;
