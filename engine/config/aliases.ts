/**
 * Resolves the aliases of keys. A key is flat (`aae_throttle`); a point may replace any underscore (`aae.throttle`), or
 * keys with a common beginning may form a map of one level (`aae: { throttle: 0 }`). All denote one key; a file that
 * gives one key in two ways is invalid.
 */
import type { ConfigEntry } from './document.ts';
import { showKey } from './values.ts';

/** An entry of the file, by its flat name and by its spelling. */
export interface SpelledEntry extends ConfigEntry {
  /** As in the file, with the surrounding map: `aae.throttle`. */
  readonly spelled: string;
  /** The flat name, whether or not such a key exists. */
  readonly key: string;
}

/** The entries of a file by their flat names, including those inside groups. `known`: the flat names of all keys. */
export function spelledOut(
  entries: ReadonlyMap<string, ConfigEntry>,
  known: readonly string[],
): readonly SpelledEntry[] {
  const found: SpelledEntry[] = [];
  for (const [spelled, { value, line }] of entries) {
    if (!(value instanceof Map) || !isGroup(spelled, known)) {
      found.push({ spelled, key: flat(spelled), value, line });
      continue;
    }
    for (const [inner, innerValue] of value as ReadonlyMap<unknown, unknown>) {
      const whole = `${spelled}.${showKey(inner)}`;
      found.push({ spelled: whole, key: flat(whole), value: innerValue, line });
    }
  }
  return found;
}

function flat(spelled: string): string {
  return spelled.replaceAll('.', '_');
}

/** Whether the name is no key itself but the beginning of keys. */
function isGroup(name: string, known: readonly string[]): boolean {
  return !known.includes(name) && known.some((key) => key.startsWith(`${name}_`));
}
