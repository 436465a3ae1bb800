/**
 * Generates the reference of all keys from the table, for `lockstep check-config --keys` and `docs/configuration.md`.
 */
import { keyOf, variableOf } from './config-key.ts';
import { configFields, configKeys } from './keys.ts';

/** The reference of one key. */
export interface KeyReference {
  readonly key: string;
  readonly variable: string;
  /** The default as JSON; absent if the key is mandatory. */
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
