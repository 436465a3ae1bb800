/**
 * Measures how deeply a module's text nests, by a scan of its tokens. The compiler of texts (wabt) has a small stack of
 * its own: beyond about 150 levels it fails or never returns, so deeper texts are refused before it sees them.
 */

/**
 * Most levels of parentheses and of blocks without them together. Output of compilers may need more, and comes as
 * .wasm.
 */
export const watNestingMax = 100;

const openers: readonly string[] = ['block', 'loop', 'if'];

/** The deepest nesting in the text, counted up to `limit` + 1; strings and comments do not count. */
export function watNesting(text: string, limit = watNestingMax): number {
  let depth = 0;
  let deepest = 0;
  let at = 0;
  let afterParenthesis = false;
  while (at < text.length && deepest <= limit) {
    const next = tokenEnd(text, at);
    const token = text.slice(at, Math.min(next, at + 8));
    at = next;
    if (isSkipped(token)) continue;
    const inner = afterParenthesis;
    afterParenthesis = token === '(';
    if (token === '(' || (!inner && openers.includes(token))) depth += 1;
    else if (token === ')' || (!inner && token === 'end')) depth = Math.max(0, depth - 1);
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

function isSkipped(token: string): boolean {
  return token.startsWith(';;') || token.startsWith('(;') || /^\s/.test(token);
}

/** The end of the token at `start`: a parenthesis, a string, a comment, white space, or a word. */
function tokenEnd(text: string, start: number): number {
  const first = text[start] ?? '';
  if (text.startsWith(';;', start)) return indexFrom(text, '\n', start);
  if (text.startsWith('(;', start)) return commentEnd(text, start);
  if (first === '(' || first === ')') return start + 1;
  if (first === '"') return stringEnd(text, start);
  const space = isSpace(first);
  let at = start + 1;
  while (at < text.length && isSpace(text[at] ?? '') === space && !'();"'.includes(text[at] ?? '')) at += 1;
  return at;
}

function isSpace(char: string): boolean {
  return char === ' ' || char === '\n' || char === '\t' || char === '\r';
}

function indexFrom(text: string, what: string, start: number): number {
  const at = text.indexOf(what, start);
  return at < 0 ? text.length : at;
}

function commentEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    if (text.startsWith('(;', at)) depth += 1;
    else if (text.startsWith(';)', at)) depth -= 1;
    else {
      at += 1;
      continue;
    }
    at += 2;
    if (depth === 0) return at;
  }
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
