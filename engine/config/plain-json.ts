/**
 * A document that a program wrote: JSON to the byte as `JSON.stringify` gives it. All such documents are YAML (1.2) too
 * and mean the same there, but are read twenty times as fast; in any other form they are left to the YAML parser, which
 * knows what is wrong with them (a key that is given twice is not written so).
 */

/** The value, its objects as `Map`s; undefined for any other text, and for one that nests as deep as `nestingMax`. */
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
