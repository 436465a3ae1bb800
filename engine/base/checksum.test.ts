import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { crc32, crc32Between, crc32OfView } from './checksum.ts';
import { viewOf } from './views.ts';

describe('CRC-32', () => {
  it('has the published check value', () => {
    expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
    expect(crc32Between(Buffer.from('x123456789x'), 1, 10)).toBe(0xcbf43926);
  });

  it('of a range equals that of the range alone, whatever its length, offset and seed', () => {
    const bytes = fc.uint8Array({ maxLength: 600 });
    fc.assert(
      fc.property(bytes, fc.nat(20), fc.nat(0xffffffff), (all, from, seed) => {
        const start = Math.min(from, all.length);
        const expected = crc32(all.subarray(start), seed);
        expect(crc32Between(all, start, all.length, seed)).toBe(expected);
        expect(crc32OfView(viewOf(all), start, all.length, seed)).toBe(expected);
      }),
    );
  });

  it('continues over several runs', () => {
    const bytes = Buffer.from('one run and another');
    expect(crc32Between(bytes, 7, bytes.length, crc32Between(bytes, 0, 7))).toBe(crc32(bytes));
  });
});
