import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatHttpDate, parseHttpDate } from './http-date.ts';

const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

test('an instant is formatted as the platform formats it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: lastMs }), (ms) => {
      expect(formatHttpDate(ms)).toBe(new Date(ms).toUTCString());
    }),
    { numRuns: 2000 },
  );
});

test('a formatted date parses to the same second', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: lastMs }), (ms) => {
      expect(parseHttpDate(formatHttpDate(ms))).toBe(Math.floor(ms / 1000));
    }),
    { numRuns: 1000 },
  );
});

test('the three forms of one instant are equal', () => {
  const forms = [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ];
  expect(forms.map(parseHttpDate)).toEqual([784_111_777, 784_111_777, 784_111_777]);
  expect(parseHttpDate('Saturday, 29-Feb-20 00:00:00 GMT')).toBe(Date.UTC(2020, 1, 29) / 1000);
});

test('text that is no date parses to undefined', () => {
  const texts = [
    '',
    'yesterday',
    '784111777',
    'Sun, 31 Feb 1994 08:49:37 GMT',
    'Sun, 00 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 24:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:37 CET',
    'Sun, 06 Foo 1994 08:49:37 GMT',
  ];
  for (const text of texts) expect(parseHttpDate(text)).toBeUndefined();
  fc.assert(
    fc.property(fc.string(), (text) => {
      const seconds = parseHttpDate(text);
      expect(seconds === undefined || Number.isInteger(seconds)).toBe(true);
    }),
  );
});
