/**
 * Compiles Riak's key filters: a list of transforms and predicates, each `[name, ...arguments]`, which a key passes
 * from left to right. A transform changes the value that the next steps see. A key that a predicate rejects, or that a
 * transform cannot convert (no number, no such token), is not selected.
 *
 * Patterns of `matches` are RE2's: they match in linear time for every key, and look-around and back-references are
 * refused. Values compare as Erlang's terms do: numbers before texts, texts by their UTF-8 bytes.
 */
import { RE2JS } from 're2js';
import { describe, isArray, refuse } from './fields.ts';
import type { Json, KeyFilter } from './job.ts';

/** The values that filters work on. Whole numbers beyond 2^53, such as many ids, are exact as a bigint. */
type Term = string | number | bigint;

/** The value after a step; undefined if the key is not selected. */
type Step = (term: Term) => Term | undefined;

const patternCharsMax = 1000;
const depthMax = 16;
/** Longest text of `similar_to`: computing a distance takes time in proportion to the product of the lengths. */
const similarCharsMax = 1024;

/** Compiles `key_filters`. Throws `BadRequest` with the filter's place and its rule. */
export function compileKeyFilters(filters: Json, countMax: number): KeyFilter {
  const step = new Compiler(countMax).sequence(filters, 'key_filters', 0);
  return (key) => step(key) !== undefined;
}

class Compiler {
  readonly #countMax: number;
  #count = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  sequence(filters: Json | undefined, where: string, depth: number): Step {
    if (!isArray(filters)) return refuse(where, `must be a list of filters, not ${describe(filters)}`);
    if (depth > depthMax) return refuse(where, `filters nest at most ${depthMax} levels deep`);
    const steps = filters.map((filter, index) => this.#step(filter, `${where}[${index}]`, depth));
    return (term) => {
      let current: Term | undefined = term;
      for (const step of steps) {
        current = step(current);
        if (current === undefined) return undefined;
      }
      return current;
    };
  }

  #step(filter: Json, where: string, depth: number): Step {
    this.#count += 1;
    if (this.#count > this.#countMax) refuse(where, `at most ${this.#countMax} filters are allowed`);
    if (!isArray(filter)) return refuse(where, `a filter is [name, ...arguments], not ${describe(filter)}`);
    const [name, ...args] = filter;
    switch (name) {
      case 'and':
      case 'or':
        return this.#choice(name, args, where, depth);
      case 'not': {
        if (args.length !== 1) refuse(where, 'not takes one list of filters');
        const inner = this.sequence(args[0], where, depth + 1);
        return (term) => (inner(term) === undefined ? term : undefined);
      }
      default: {
        const make = typeof name === 'string' ? makers.get(name) : undefined;
        if (make !== undefined) return make(args, where);
        return refuse(where, `${describe(name)} is not a filter; there are ${filterNames.join(', ')}`);
      }
    }
  }

  #choice(name: 'and' | 'or', args: readonly Json[], where: string, depth: number): Step {
    if (args.length < 2) refuse(where, `${name} takes two or more lists of filters`);
    const branches = args.map((arg) => this.sequence(arg, where, depth + 1));
    const passes = (term: Term) => (branch: Step) => branch(term) !== undefined;
    return (term) =>
      (name === 'and' ? branches.every(passes(term)) : branches.some(passes(term))) ? term : undefined;
  }
}

type Maker = (args: readonly Json[], where: string) => Step;

const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['int_to_string', plain((term) => (isWhole(term) ? String(term) : undefined))],
  ['string_to_int', plain(wholeOf)],
  ['float_to_string', plain((term) => (typeof term === 'number' ? String(term) : undefined))],
  ['string_to_float', plain((term) => numberOf(term, /^[+-]?\d+\.\d+([eE][+-]?\d+)?$/))],
  ['to_upper', plain((term) => (typeof term === 'string' ? term.toUpperCase() : undefined))],
  ['to_lower', plain((term) => (typeof term === 'string' ? term.toLowerCase() : undefined))],
  ['urldecode', plain((term) => (typeof term === 'string' ? percentDecoded(term) : undefined))],
  ['tokenize', tokenize],
  ['greater_than', comparing((order) => order > 0)],
  ['less_than', comparing((order) => order < 0)],
  ['greater_than_eq', comparing((order) => order >= 0)],
  ['less_than_eq', comparing((order) => order <= 0)],
  ['eq', comparing((order) => order === 0, exactTerm)],
  ['neq', comparing((order) => order !== 0, exactTerm)],
  ['between', between],
  ['matches', matches],
  ['set_member', setMember],
  ['similar_to', similarTo],
  ['starts_with', texting((text, part) => text.startsWith(part))],
  ['ends_with', texting((text, part) => text.endsWith(part))],
]);

const filterNames: readonly string[] = [...makers.keys(), 'and', 'or', 'not'];

function plain(change: Step): Maker {
  return (args, where) => {
    if (args.length > 0) refuse(where, 'this filter takes no arguments');
    return change;
  };
}

function comparing(holds: (order: number) => boolean, read: ReadTerm = termOf): Maker {
  return (args, where) => {
    const [bound] = termsOf(args, 1, where, read);
    return (term) => (bound !== undefined && holds(compareTerms(term, bound)) ? term : undefined);
  };
}

function texting(holds: (text: string, part: string) => boolean): Maker {
  return (args, where) => {
    const [part] = args;
    if (args.length !== 1 || typeof part !== 'string') return refuse(where, 'this filter takes one text');
    return (term) => (typeof term === 'string' && holds(term, part) ? term : undefined);
  };
}

function between(args: readonly Json[], where: string): Step {
  const [low, high, inclusive = true] = args;
  if (args.length > 3 || typeof inclusive !== 'boolean')
    refuse(where, 'between takes two bounds and, if need be, whether they belong to it');
  const [from, to] = termsOf([low ?? null, high ?? null], 2, where);
  return (term) => {
    if (from === undefined || to === undefined) return undefined;
    const above = compareTerms(term, from);
    const below = compareTerms(to, term);
    return above > 0 && below > 0 ? term : inclusive && above >= 0 && below >= 0 ? term : undefined;
  };
}

/** The n-th part between separators: each of the given characters separates, and empty parts do not count. */
function tokenize(args: readonly Json[], where: string): Step {
  const [separators, number] = args;
  if (args.length !== 2 || typeof separators !== 'string' || separators === '')
    return refuse(where, 'tokenize takes the separators and the number of a part');
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 1)
    return refuse(where, `the number of a part must be 1 or more, not ${describe(number)}`);
  // By code points: half of a surrogate pair separates nothing.
  const split = new Set(separators);
  const [end = ''] = split;
  return (term) => {
    if (typeof term !== 'string') return undefined;
    let part = '';
    let seen = 0;
    for (const character of [...term, end]) {
      if (!split.has(character)) part += character;
      else if (part !== '') {
        seen += 1;
        if (seen === number) return part;
        part = '';
      }
    }
    return undefined;
  };
}

function matches(args: readonly Json[], where: string): Step {
  const [pattern] = args;
  if (args.length !== 1 || typeof pattern !== 'string' || pattern.length > patternCharsMax)
    return refuse(where, `matches takes one pattern of ${patternCharsMax} characters at most`);
  const compiled = compiledOf(pattern, where);
  return (term) => (typeof term === 'string' && compiled.matcher(term).find() ? term : undefined);
}

function compiledOf(pattern: string, where: string): RE2JS {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refuse(where, `the pattern is none of RE2's: ${why}`);
  }
}

function setMember(args: readonly Json[], where: string): Step {
  const members = new Set(termsOf(args, undefined, where, exactTerm));
  return (term) => (members.has(term) ? term : undefined);
}

function similarTo(args: readonly Json[], where: string): Step {
  const [text, distance] = args;
  const sound = typeof text === 'string' && typeof distance === 'number' && distance >= 0;
  if (args.length !== 2 || !sound || text.length > similarCharsMax)
    return refuse(where, `similar_to takes a text of ${similarCharsMax} characters at most and a distance`);
  return (term) => {
    if (typeof term !== 'string' || Math.abs(term.length - text.length) > distance) return undefined;
    // The longer text's length is the greatest distance; computing it would take long.
    if (distance >= Math.max(term.length, text.length)) return term;
    return levenshtein(term, text) <= distance ? term : undefined;
  };
}

type ReadTerm = (arg: Json, where: string) => string | number;

function termsOf(
  args: readonly Json[],
  count: number | undefined,
  where: string,
  read: ReadTerm = termOf,
): readonly Term[] {
  if (count === undefined ? args.length === 0 : args.length !== count)
    refuse(
      where,
      `this filter takes ${count === undefined ? 'one argument or more' : `${count} argument(s)`}`,
    );
  return args.map((arg) => read(arg, where));
}

/** An argument that orders keys: JSON may have rounded a long number, which moves such a bound a little only. */
function termOf(arg: Json, where: string): string | number {
  if (typeof arg === 'string' || typeof arg === 'number') return arg;
  return refuse(where, `an argument must be a text or a number, not ${describe(arg)}`);
}

/** An argument that keys must equal: one that JSON rounded would select neighbours of the key that is meant. */
function exactTerm(arg: Json, where: string): string | number {
  const term = termOf(arg, where);
  if (typeof term === 'string' || Number.isSafeInteger(term)) return term;
  if (!Number.isInteger(term) || Math.abs(term) >= exponentFrom) return term;
  return refuse(where, `a whole number beyond 2^53 is not exact in JSON, such as ${describe(arg)}`);
}

/** Numbers from here on are written with an exponent, and mean no exact number. */
const exponentFrom = 1e21;

function isWhole(term: Term): boolean {
  return typeof term === 'bigint' || Number.isInteger(term);
}

function wholeOf(term: Term): Term | undefined {
  const number = numberOf(term, /^[+-]?\d+$/);
  if (number === undefined || Number.isSafeInteger(number)) return number;
  return typeof term === 'string' ? BigInt(term.replace('+', '')) : undefined;
}

function numberOf(term: Term, form: RegExp): number | undefined {
  return typeof term === 'string' && form.test(term) ? Number(term) : undefined;
}

function compareTerms(left: Term, right: Term): number {
  if (typeof left !== 'string' && typeof right !== 'string') return left < right ? -1 : left > right ? 1 : 0;
  if (typeof left !== 'string') return -1;
  return typeof right === 'string' ? Buffer.compare(Buffer.from(left), Buffer.from(right)) : 1;
}

/** The edit distance: fewest insertions, removals and replacements that turn one text into the other. */
function levenshtein(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const replaced = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}

/** Decodes `%41` and `+` in a key written as a form field; undefined if the encoding is malformed. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
