/**
 * Parses YAML (1.2) into the entries below its one root key. Size, nesting and alias expansion are bounded before any
 * value is built: the YAML parser recurses, and deep nesting would end the process. Duplicate keys, unknown tags and
 * further documents are faults.
 */
import type { CST } from 'yaml';
import { LineCounter, Parser, isMap, isScalar, parseDocument, visit } from 'yaml';
import type { FaultList } from './faults.ts';
import { SpelledNumber, showGiven, showKey } from './values.ts';

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

/** Largest configuration file, in bytes. */
export const fileBytesMax = 256 * 1024;
/** Deepest nesting, in levels. */
export const nestingMax = 16;
/** Most expansions of aliases. */
export const aliasCountMax = 64;

/** The value of a key, and its place in the file. */
export interface ConfigEntry {
  readonly value: unknown;
  /** Line of the key, from 1. */
  readonly line: number;
}

/** A parsed file. */
export interface ConfigDocument {
  /** The root key. */
  readonly pool: string;
  /** Values by key as in the file; maps inside values are `Map`s. */
  readonly entries: ReadonlyMap<string, ConfigEntry>;
}

/** The parsed document; undefined if `faults` has got the reasons. */
export function readDocument(
  yamlText: string,
  source: string,
  faults: FaultList,
): ConfigDocument | undefined {
  const fault = (problem: string, line?: number) =>
    faults.add({ source, key: '', problem, ...(line === undefined ? {} : { line }) });
  if (Buffer.byteLength(yamlText) > fileBytesMax) {
    fault(`the file has ${Buffer.byteLength(yamlText)} bytes; allowed: at most ${fileBytesMax}`);
    return undefined;
  }
  const json = readPlainJson(yamlText, nestingMax);
  // Plain JSON has a single line.
  if (json !== undefined) return rootOf(json.value, fault, () => 1);
  if (nestingOf(yamlText) > nestingMax) {
    fault(`the file nests more than ${nestingMax} levels deep`);
    return undefined;
  }
  const lines = new LineCounter();
  const document = parse(yamlText, lines);
  for (const { message, pos } of [...document.errors, ...document.warnings]) {
    fault(`not valid YAML: ${inOwnWords(message)}`, lines.linePos(pos[0]).line);
  }
  if (!faults.empty) return undefined;
  return readRoot(document, lines, fault);
}

/** Parses one value of an environment variable: YAML, as in the file. Undefined if it is invalid. */
export function readValue(yamlText: string): { readonly value: unknown } | undefined {
  if (yamlText.length > fileBytesMax || nestingOf(yamlText) > nestingMax) return undefined;
  const document = parse(yamlText, new LineCounter());
  if (document.errors.length + document.warnings.length > 0) return undefined;
  return expand(document);
}

/** Removes a hint that only a programmer could follow. */
function inOwnWords(message: string): string {
  return message.replace(/; please use YAML\.\w+\(\)$/, '; one is wanted');
}

type ParsedDocument = ReturnType<typeof parse>;

function parse(yamlText: string, lineCounter: LineCounter) {
  const options = { lineCounter, prettyErrors: false, logLevel: 'error', schema: 'core' } as const;
  const document = parseDocument(yamlText, options);
  keepSpellings(document);
  return document;
}

/** Keeps the spelling of numbers, because an unquoted number may be meant as a name: `012` is not 12. */
function keepSpellings(document: ReturnType<typeof parseDocument>): void {
  visit(document, {
    Scalar(_key, scalar) {
      const { value, source } = scalar;
      if (typeof value !== 'number' || source === undefined || source === String(value)) return;
      scalar.value = new SpelledNumber(value, source);
    },
  });
}

/** The document's plain values. Undefined if aliases expand beyond the bound or have no anchor. */
function expand(document: ParsedDocument): { readonly value: unknown } | undefined {
  try {
    return { value: document.toJS({ mapAsMap: true, maxAliasCount: aliasCountMax }) as unknown };
  } catch (error) {
    // The library reports too many aliases, recursive ones and unknown ones by these classes.
    if (error instanceof ReferenceError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function readRoot(
  document: ParsedDocument,
  lines: LineCounter,
  fault: (problem: string, line?: number) => void,
): ConfigDocument | undefined {
  const expanded = expand(document);
  if (expanded === undefined) {
    fault(`aliases repeat more than ${aliasCountMax} times, or name themselves or no anchor above them`);
    return undefined;
  }
  const lineOf = linesOfKeys(document, lines);
  return rootOf(expanded.value, fault, (key) => lineOf.get(key) ?? 1);
}

function rootOf(
  root: unknown,
  fault: (problem: string, line?: number) => void,
  lineOf: (key: unknown) => number,
): ConfigDocument | undefined {
  if (!(root instanceof Map) || root.size !== 1) {
    fault(`${showGiven(root)} given; the file holds one root key, the pool's name, with the keys below it`);
    return undefined;
  }
  const [[pool, body]] = [...(root as ReadonlyMap<unknown, unknown>)] as [[unknown, unknown]];
  if (body !== null && !(body instanceof Map)) {
    fault(`${showGiven(body)} given below ${showKey(pool)}; allowed: the keys of a pool`);
    return undefined;
  }
  const entries = new Map<string, ConfigEntry>();
  for (const [key, value] of (body ?? new Map()) as ReadonlyMap<unknown, unknown>) {
    entries.set(showKey(key), { value, line: lineOf(key) });
  }
  return { pool: showKey(pool), entries };
}

/** The line of every key below the root key. */
function linesOfKeys(document: ParsedDocument, lines: LineCounter): ReadonlyMap<unknown, number> {
  const found = new Map<unknown, number>();
  const body = isMap(document.contents) ? document.contents.items[0]?.value : undefined;
  if (!isMap(body)) return found;
  for (const { key } of body.items) {
    if (isScalar(key)) found.set(key.value, lines.linePos(key.range[0]).line);
  }
  return found;
}

/** Nesting of the text's values in levels, by its concrete syntax tree, which is traversed without recursion. */
function nestingOf(yamlText: string): number {
  let deepest = 0;
  const open: { token: CST.Token; depth: number }[] = [];
  for (const token of new Parser().parse(yamlText)) open.push({ token, depth: 0 });
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    deepest = Math.max(deepest, depth);
    if (token.type === 'document' && token.value) open.push({ token: token.value, depth });
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) {
      if (key) open.push({ token: key, depth: depth + 1 });
      if (value) open.push({ token: value, depth: depth + 1 });
    }
  }
  return deepest;
}
