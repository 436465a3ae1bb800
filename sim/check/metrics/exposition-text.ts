/**
 * Parses the text exposition format 0.0.4 strictly, as far as a node may use it: counters, gauges and histograms. Each
 * family has one HELP and one TYPE line before its samples. Samples of a family stand together, each once, with finite
 * values; counters are named `_total` and never negative. The values of a histogram are named `_bucket` (with the label
 * `le`), `_sum` and `_count`, and are never negative. Anything else throws `ExpositionError` with its line. (Source:
 * Prometheus, "Exposition formats", text-based format.)
 */

type FamilyType = 'counter' | 'gauge' | 'histogram';

/** One metric family of the text. */
export interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  readonly samples: readonly ParsedSample[];
}

/** One sample line. */
export interface ParsedSample {
  readonly name: string;
  /** In the order of the text. */
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  /** The sample's `seriesName`. */
  readonly series: string;
}

/** A line that the format, or a node's use of it, does not allow. */
export class ExpositionError extends Error {
  override readonly name = 'ExpositionError';

  constructor(line: number, text: string, why: string) {
    super(`line ${line}: ${why}: ${text.slice(0, 120)}`);
  }
}

interface OpenFamily {
  readonly name: string;
  readonly help: string;
  type: FamilyType | undefined;
  readonly samples: ParsedSample[];
}

const namePattern = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** A sample's line up to the space before its value. */
const seriesPattern = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?$/;
const valuePattern = /^\S+$/;
const numberPattern = /^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?$/;
/** A label's name, its value with escapes, and a comma or the end. */
const labelPattern = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(,|$)/y;

/** The part of a line before the value is the same in every text, and is parsed once. */
type Series = Omit<ParsedSample, 'value'>;
type KnownSeries = Map<string, Series>;

/** The families in the text's order. `known`: series parsed from earlier texts. Throws `ExpositionError`. */
export function parseExposition(text: string, known: KnownSeries = new Map()): readonly ParsedFamily[] {
  const families = new Map<string, OpenFamily>();
  const seen = new Set<string>();
  let open: OpenFamily | undefined;
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new ExpositionError(lines.length, '', 'the text does not end with a newline');
  lines.forEach((line, index) => {
    const fail = (why: string): never => {
      throw new ExpositionError(index + 1, line, why);
    };
    if (line === '') return;
    if (line.startsWith('# HELP ')) open = readHelp(line, families, fail);
    else if (line.startsWith('# TYPE ')) readType(line, open, fail);
    else readSample(line, open, { known, seen }, fail);
  });
  return [...families.values()].map((family) => closeFamily(family, lines.length));
}

/** Parses a text; throws `ExpositionError`. */
export type ExpositionReader = (text: string) => readonly ParsedFamily[];

/**
 * `parseExposition` with a cache for several checks of many texts: each text, and each part common to texts, is parsed
 * once.
 */
export function expositionReader(): ExpositionReader {
  const known = new Map<string, readonly ParsedFamily[]>();
  const knownSeries: KnownSeries = new Map();
  return (text) => {
    const families = known.get(text) ?? parseExposition(text, knownSeries);
    known.set(text, families);
    return families;
  };
}

/** `name{a="b"}` with the labels sorted by name: one text per time series. */
export function seriesName({ name, labels }: Pick<ParsedSample, 'name' | 'labels'>): string {
  if (labels.size === 0) return name;
  const pairs: string[] = [];
  for (const [label, value] of labels) pairs.push(`${label}=${JSON.stringify(value)}`);
  return `${name}{${pairs.length === 1 ? pairs[0] : pairs.toSorted().join(',')}}`;
}

type Fail = (why: string) => never;

function readHelp(line: string, families: Map<string, OpenFamily>, fail: Fail): OpenFamily {
  const { name, rest } = commentParts(line);
  if (!namePattern.test(name)) fail('this is no name of a family');
  if (rest === '') fail('the help is empty');
  if (families.has(name)) fail('the family has a HELP line already');
  const family: OpenFamily = { name, help: unescape(rest), type: undefined, samples: [] };
  families.set(name, family);
  return family;
}

function readType(line: string, open: OpenFamily | undefined, fail: Fail): void {
  const { name, rest } = commentParts(line);
  if (open?.name !== name) return fail('the TYPE line does not follow the HELP line of its family');
  if (open.type !== undefined) fail('the family has a TYPE line already');
  if (rest !== 'counter' && rest !== 'gauge' && rest !== 'histogram') {
    return fail('the type is neither counter, gauge nor histogram');
  }
  if (rest === 'counter' && !name.endsWith('_total')) fail('a counter whose name does not end in _total');
  open.type = rest;
}

function readSample(
  line: string,
  open: OpenFamily | undefined,
  { known, seen }: { readonly known: KnownSeries; readonly seen: Set<string> },
  fail: Fail,
): void {
  const space = line.lastIndexOf(' ');
  const head = line.slice(0, Math.max(space, 0));
  const valueText = line.slice(space + 1);
  const of = known.get(head) ?? readSeries(head, fail);
  known.set(head, of);
  const { name, labels, series } = of;
  if (!numberPattern.test(valueText)) {
    fail(valuePattern.test(valueText) ? 'the value is no finite number' : 'this is no sample');
  }
  if (open?.type === undefined || !isOf(open, of)) return fail('a sample outside its family');
  const value = Number(valueText);
  if (open.type !== 'gauge' && value < 0) fail(`a ${open.type} is negative`);
  if (seen.has(series)) fail('the sample is there twice');
  seen.add(series);
  open.samples.push({ name, labels, value, series });
}

/** Whether a series has a name of the family; only buckets have the label `le`. */
function isOf({ name, type }: OpenFamily, series: Series): boolean {
  if (type !== 'histogram') return series.name === name;
  if (series.labels.has('le')) return series.name === `${name}_bucket`;
  return series.name === `${name}_sum` || series.name === `${name}_count`;
}

function readSeries(head: string, fail: Fail): Series {
  const match = seriesPattern.exec(head);
  if (match === null) return fail('this is no sample');
  const [, name = '', labelText = ''] = match;
  const labels = readLabels(labelText, fail);
  return { name, labels, series: seriesName({ name, labels }) };
}

function readLabels(text: string, fail: Fail): ReadonlyMap<string, string> {
  const labels = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    labelPattern.lastIndex = at;
    const match = labelPattern.exec(text);
    if (match === null) return fail('the labels are malformed');
    const [whole, name = '', value = ''] = match;
    if (labels.has(name)) fail(`the label ${name} is there twice`);
    labels.set(name, unescape(value));
    at += whole.length;
  }
  return labels;
}

function closeFamily({ name, help, type, samples }: OpenFamily, line: number): ParsedFamily {
  if (type === undefined) throw new ExpositionError(line, name, 'the family has no TYPE line');
  return { name, help, type, samples };
}

function commentParts(line: string): { name: string; rest: string } {
  const nameAt = '# HELP '.length;
  const end = line.indexOf(' ', nameAt);
  if (end < 0) return { name: line.slice(nameAt), rest: '' };
  return { name: line.slice(nameAt, end), rest: line.slice(end + 1) };
}

function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\(["\\n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
