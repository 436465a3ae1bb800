/**
 * The reference of all keys, for `lockstep check-config --keys` and engine/docs/configuration.md: the table, written out.
 */
import { keyOf, variableOf } from './key-names.ts';
import { configFields, configKeys } from './keys.ts';

export interface KeyReference {
  readonly key: string;
  readonly variable: string;
  /** JSON of the default; absent when the key must be given. */
  readonly fallback?: string;
  readonly allowed: string;
  readonly help: string;
}

/** Every key, in the table's order. */
export function keyReferences(): readonly KeyReference[] {
  return configFields.map((field) => {
    const { kind, fallback, help } = configKeys[field];
    const shown = fallback instanceof Map ? {} : fallback;
    return {
      key: keyOf(field),
      variable: variableOf(field),
      ...(fallback === undefined ? {} : { fallback: JSON.stringify(shown) }),
      allowed: kind.allowed,
      help,
    };
  });
}

/** The reference as text, three lines a key. */
export function describeKeys(): string {
  return keyReferences()
    .map(({ key, variable, fallback, allowed, help }) => {
      const given = fallback === undefined ? 'must be given' : `default ${fallback}`;
      return `${key} (${given}; ${variable})\n  ${help}\n  Allowed: ${allowed}.\n`;
    })
    .join('\n');
}
