/**
 * A fast path for files that a program wrote: text exactly as `JSON.stringify` prints it. Every such text is also YAML
 * (1.2) with the same meaning, but is parsed twenty times as fast. Any other text goes to the YAML parser, which
 * reports its faults (a file with a duplicate key, for example, never has this form).
 */

/** The value, with `Map`s for objects. Undefined for any other text and for nesting of `nestingMax` or more levels. */
export function readPlainJson(text: string, nestingMax: number): { readonly value: unknown } | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (isDeep(parsed, nestingMax) || JSON.stringify(parsed) !== text) return undefined;
    return { value: mapped(parsed) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isDeep(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels <= 1 || Object.values(value).some((inner) => isDeep(inner, levels - 1));
}

function mapped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapped);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, inner]) => [key, mapped(inner)]));
}
