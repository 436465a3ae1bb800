import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteStringFrom, byteStringOf, bytesOf, parseNodeId, parseToken, textOf, tokenMax } from './ids.ts';

describe('byte strings', () => {
  it('bytes round-trip, and byte strings sort as their bytes do', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
        expect(Uint8Array.from(bytesOf(byteStringFrom(left)))).toEqual(left);
        expect(byteStringFrom(left)).toHaveLength(left.length);
        const order = Buffer.compare(left, right);
        expect(byteStringFrom(left) < byteStringFrom(right)).toBe(order < 0);
      }),
    );
  });

  it('a view is read within its bounds', () => {
    expect(byteStringFrom(Buffer.from('abcdef').subarray(2, 4))).toBe('cd');
    expect(byteStringFrom(new Uint8Array(Uint8Array.from([1, 2, 3]).buffer, 1, 1))).toBe('\x02');
  });

  it('text becomes its UTF-8 bytes and comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(bytesOf(byteStringOf(text))).toEqual(Buffer.from(text));
        expect(textOf(byteStringOf(text))).toBe(text);
      }),
    );
    expect(textOf(byteStringFrom(Uint8Array.of(0xe9)))).toBe('\ufffd');
  });
});

describe('ids', () => {
  it('a node id is 1 to 64 letters, digits, dots, dashes and underscores', () => {
    for (const good of ['n1', 'A_b-c.d', 'x'.repeat(64)]) expect(parseNodeId(good)).toBe(good);
    for (const bad of ['', 'x'.repeat(65), 'a b', 'a/b', 'ä', 'a\n', 'n1:2'])
      expect(parseNodeId(bad)).toBe(undefined);
  });

  it('a token is an unsigned 32-bit integer', () => {
    for (const good of [0, 1, tokenMax]) expect(parseToken(good)).toBe(good);
    for (const bad of [-1, tokenMax + 1, 1.5, Number.NaN, Infinity]) expect(parseToken(bad)).toBe(undefined);
  });
});
