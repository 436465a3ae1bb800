import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { inexactNumberIn, jsonDepthMax, parseFlat } from './json-text.ts';

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

  it('shows the whole numbers that it would change', () => {
    for (const text of [
      '{"a":9007199254740993}',
      '[1, -9007199254740993]',
      '{"\\"9":12345678901234567890,"b":1}',
      `[${'9'.repeat(400)}]`,
      '{"a":[1e400]}',
      '[-1E+309]',
      '[2.5e0400]',
    ]) {
      const changed = inexactNumberIn(text) ?? '';
      expect(text).toContain(changed);
      expect(JSON.stringify(JSON.parse(text))).not.toContain(changed);
    }
    for (const text of [
      '{"a":9007199254740992,"b":-9007199254740991}',
      '["9007199254740993","\\"9007199254740993"]',
      '[10000000000000000000000, 1e300, 0.12345678901234567, 9007199254740993.5]',
      '{"ok":true,"no":false,"none":null,"id":"1234567890123456","n":1e100}',
      '[123456789012345680000, -12345000000000000000000]',
    ])
      expect(inexactNumberIn(text)).toBe(undefined);
  });

  it('keeps every number that JSON.stringify prints, whatever is beside it', () => {
    const numbers = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger());
    const values = fc.record({
      numbers: fc.array(numbers),
      digits: fc.stringMatching(/^\d{16,20}$/),
      any: fc.jsonValue(),
    });
    fc.assert(
      fc.property(values, (value) => {
        expect(inexactNumberIn(JSON.stringify(value))).toBe(undefined);
      }),
    );
  });

  it('changes no whole number unseen', () => {
    // JSON.stringify prints numbers from 10^21 on with an exponent.
    const wholes = fc.bigInt({ min: -(10n ** 21n) + 1n, max: 10n ** 21n - 1n });
    fc.assert(
      fc.property(wholes, (whole) => {
        const text = String(whole);
        const isKept = JSON.stringify(Number(text)) === text;
        expect(inexactNumberIn(`[${text}, true]`)).toBe(isKept ? undefined : text);
      }),
    );
  });
});
