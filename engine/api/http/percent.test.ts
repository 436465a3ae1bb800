import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { percentDecode, percentEncode } from './percent.ts';

const byteString = fc
  .uint8Array({ maxLength: 50 })
  .map((bytes) => Buffer.from(bytes).toString('latin1') as ByteString);

test('any bytes survive percent-encoding as ASCII that needs no further quoting', () => {
  fc.assert(
    fc.property(byteString, (bytes) => {
      expect(percentEncode(bytes)).toMatch(/^[A-Za-z0-9._~%-]*$/);
      expect(percentDecode(percentEncode(bytes), 'it')).toBe(bytes);
    }),
  );
});

test('unencoded bytes are taken literally, the plus sign too', () => {
  expect(percentDecode('a+b%20%e9/\u00e9', 'it')).toBe('a+b \u00e9/\u00e9');
});

test('arbitrary text decodes or is refused, and a % without digits is always refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('%', '4', 'f', 'G', 'a', '\u0100') }), (text) => {
      const whole = /^(?:[^%\u0100]|%[0-9A-Fa-f]{2})*$/.test(text);
      try {
        percentDecode(text, 'the key');
        expect(whole).toBe(true);
      } catch (error) {
        expect(whole).toBe(false);
        expect(error).toBeInstanceOf(LockstepError);
        expect(error).toMatchObject({ code: 'BadRequest', message: expect.stringContaining('the key') });
      }
    }),
  );
});
