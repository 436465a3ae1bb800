/** One row of the table of configuration keys. */
import type { ValueKind } from './values.ts';

export interface ConfigKey<T> {
  readonly kind: ValueKind<T>;
  /** As the file would give it; absent: the key must be given. */
  readonly fallback?: unknown;
  /** One sentence for people. */
  readonly help: string;
}

/** Rows of some fields. */
export type KeyRows<Fields> = { readonly [Field in keyof Fields]: ConfigKey<Fields[Field]> };
