import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { jsonDepthMax, parseFlat } from './json-text.ts';

/** Lists and objects nested `depth` levels deep around a text that holds brackets of its own. */
function nested(openings: readonly ('[' | '{')[], text: string): string {
  const inner = JSON.stringify(text);
  return openings.reduceRight((held, opening) => (opening === '[' ? `[${held}]` : `{"a":${held}}`), inner);
}

const bracketText = fc.string({ unit: fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a'), maxLength: 200 });

describe('JSON from clients', () => {
  it('parses at the depth limit, whatever its strings hold, and is refused one level deeper', () => {
    const openings = fc.array(fc.constantFrom('[' as const, '{' as const), {
      minLength: jsonDepthMax - 40,
      maxLength: jsonDepthMax + 2,
      size: 'max',
    });
    fc.assert(
      fc.property(openings, bracketText, (levels, text) => {
        const json = nested(levels, text);
        if (levels.length > jsonDepthMax) expect(() => parseFlat(json)).toThrow('JSON nests deeper than 64');
        else expect(parseFlat(json)).toEqual(JSON.parse(json));
      }),
    );
  });

  it('may hold any number of lists and objects side by side', () => {
    const many = JSON.stringify(Array.from({ length: 1000 }, () => [{ a: [] }]));
    expect(parseFlat(many)).toEqual(JSON.parse(many));
    for (const opening of ['[', '{'] as const) {
      const deep = nested(Array<'[' | '{'>(jsonDepthMax).fill(opening), '');
      expect(parseFlat(deep)).toEqual(JSON.parse(deep));
      expect(() => parseFlat(`[${deep}]`)).toThrow('JSON nests deeper than 64');
    }
  });
});
