/** Types of the table of configuration keys. */
import type { ValueKind } from './values.ts';

/** One row: how the value is read, its default, and its help text. */
export interface ConfigKey<T> {
  readonly kind: ValueKind<T>;
  /** The default as the file would give it; absent if the key is mandatory. */
  readonly fallback?: unknown;
  /** One sentence for people. */
  readonly help: string;
}

/** Rows for the given fields. */
export type KeyRows<Fields> = { readonly [Field in keyof Fields]: ConfigKey<Fields[Field]> };
