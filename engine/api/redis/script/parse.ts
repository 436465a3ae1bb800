/**
 * Parses Lua 5.1 with the library luaparse, and tells apart what its syntax tree leaves out: parentheses around a call,
 * which cut its values to one.
 */
import type { Chunk, Expression, Options } from 'luaparse';
import luaparse from 'luaparse';

/** A script that does not parse, or nests too deeply. */
export class CompileError extends Error {
  override readonly name = 'CompileError';
}

/** A parsed script. */
export interface ParsedScript {
  /** Bytes, one a character. */
  readonly text: string;
  readonly chunk: Chunk;
}

const options: Partial<Options> & { readonly wait: false } = {
  wait: false,
  luaVersion: '5.1',
  locations: true,
  ranges: true,
  comments: false,
  scope: false,
  encodingMode: 'pseudo-latin1',
};

/** Opening brackets and block keywords within each other; the parser's and the compiler's recursion is bounded by it. */
const nestingMax = 200;

function nestsTooDeeply(): CompileError {
  return new CompileError('user_script: the script nests too deeply');
}

/** Parses a script of bytes (latin1). Throws `CompileError`. */
export function parseScript(text: string): ParsedScript {
  try {
    refuseNesting(text);
    return { text, chunk: luaparse.parse(text, options) };
  } catch (error) {
    // What the count of `refuseNesting` misses ends where the parser has no stack left.
    if (error instanceof RangeError) throw nestsTooDeeply();
    if (!(error instanceof SyntaxError)) throw error;
    const line = 'line' in error ? Number(error.line) : 1;
    throw new CompileError(`user_script:${line}: ${error.message.replace(/^\[\d+:\d+\] /, '')}`);
  }
}

/** What nests, and the texts and comments that hide it. One that does not end extends to the end of its line, or of all. */
const nesting = new RegExp(
  [
    /--\[(=*)\[[^]*?(?:\]\1\]|$)|--[^\n\r]*|\[(=*)\[[^]*?(?:\]\2\]|$)/,
    /"(?:\\(?:\r\n|\n\r|[^])|[^"\\\n\r])*"?|'(?:\\(?:\r\n|\n\r|[^])|[^'\\\n\r])*'?/,
    /[([{}\])]|\b(?:do|then|elseif|function|repeat|end|until|not)\b|\.\.|\^|-|#|[;\n]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
/** A text or a comment. */
const hiding = /^(?:--|["']|\[=*\[)/;

/** A cautious count. */
function refuseNesting(text: string): void {
  let depth = 0;
  let operators = 0;
  for (const [token] of text.matchAll(nesting)) {
    if (hiding.test(token)) continue;
    if ('([{'.includes(token) || ['do', 'then', 'function', 'repeat'].includes(token)) depth += 1;
    else if (')]}'.includes(token) || ['end', 'until', 'elseif'].includes(token))
      depth = Math.max(0, depth - 1);
    // Operators that nest to the right: a chain of them is as deep as it is long.
    operators = ';\n'.includes(token) ? 0 : operators + 1;
    if (depth > nestingMax || operators > nestingMax * 10) throw nestsTooDeeply();
  }
}

/** The first and last offset of a node in the text. */
export function rangeOf(node: object): readonly [number, number] {
  const { range } = node as { readonly range?: readonly [number, number] };
  return range ?? [0, 0];
}

/** The line of a node, from 1. */
export function lineOf({
  loc,
}: {
  readonly loc?: { readonly start: { readonly line: number } } | undefined;
}): number {
  return loc?.start.line ?? 1;
}

/**
 * Whether an expression of a list stands in parentheses of its own: whether there is an opening one between `from`,
 * where the list or the expression before ends, and the expression.
 */
export function isWrapped({ text }: ParsedScript, expression: Expression, from: number): boolean {
  const gap = text.slice(from, rangeOf(expression)[0]);
  return gap.replaceAll(/--\[(=*)\[.*?\]\1\]|--[^\n\r]*/gs, '').includes('(');
}
