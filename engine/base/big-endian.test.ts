import fc from 'fast-check';
import { expect, test } from 'vitest';
import { putU32, u16At, u32At } from './big-endian.ts';

const bytes = fc.uint8Array({ minLength: 4, maxLength: 12 }).map((run) => Buffer.from(run));

test('integers read as Buffer reads them', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), (run, place) => {
      const at = place % (run.length - 3);
      expect(u32At(run, at)).toBe(run.readUInt32BE(at));
      expect(u16At(run, at)).toBe(run.readUInt16BE(at));
    }),
  );
});

test('a written integer reads back, and the bytes around it do not change', () => {
  fc.assert(
    fc.property(bytes, fc.nat(), fc.nat({ max: 0xffffffff }), (run, place, value) => {
      const at = place % (run.length - 3);
      const expected = Buffer.from(run);
      expected.writeUInt32BE(value, at);
      putU32(run, at, value);
      expect(run).toEqual(expected);
      expect(u32At(run, at)).toBe(value);
    }),
  );
});
