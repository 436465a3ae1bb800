/**
 * The spellings of a key. Keys are flat, `aae_throttle`; the parts of a name may also be put apart by a point,
 * `aae.throttle`, or be a map of what begins alike, `aae: { throttle: 0 }`, in one level. All are the same key, and a
 * file that gives one key in two ways is wrong.
 */
import type { ConfigEntry } from './document.ts';
import { showKey } from './values.ts';

export interface SpelledEntry extends ConfigEntry {
  /** As the file has it, with the maps around it: `aae.throttle`. */
  readonly spelled: string;
  /** The flat name, whether or not there is such a key. */
  readonly key: string;
}

/** The entries of a file by their flat names, those in groups too. */
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

/** No key itself, and keys begin with it. */
function isGroup(name: string, known: readonly string[]): boolean {
  return !known.includes(name) && known.some((key) => key.startsWith(`${name}_`));
}
