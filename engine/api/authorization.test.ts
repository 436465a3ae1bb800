import fc from 'fast-check';
import { expect, test } from 'vitest';

import { readAuthorization } from './http-guard.ts';

function plain(header: string): { token: string; name?: string } | undefined {
  const given = readAuthorization(header);
  if (given === undefined) return undefined;
  const token = Buffer.from(given.token).toString();
  return given.name === undefined ? { token } : { token, name: given.name };
}

test('a bearer token is the token, in any case of its scheme', () => {
  expect(plain('Bearer abc-._~+/1=')).toEqual({ token: 'abc-._~+/1=' });
  expect(plain('bEARER  abc ')).toEqual({ token: 'abc' });
  // `lockstep credentials add --token-file` takes such tokens, and commands send them in this form.
  expect(plain('Bearer p@ss:w0rd,!"=#')).toEqual({ token: 'p@ss:w0rd,!"=#' });
});

test('basic credentials are a name and a token, which may hold colons', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (word, token) => {
      const name = word.replaceAll(':', '');
      const words = Buffer.from(`${name}:${token}`).toString('base64');
      expect(plain(`Basic ${words}`)).toEqual({ name, token });
    }),
  );
});

test.each([
  '',
  'Bearer',
  'Bearer ',
  'Bearer a b',
  'Bearer a, Bearer b',
  'Digest abc',
  'Basic YWJj',
  'Basic YTpi!',
  'abc',
  `Bearer ${'a'.repeat(5000)}`,
])('%j holds no credentials', (header) => {
  expect(readAuthorization(header)).toBeUndefined();
});

test('any header yields credentials of at most 4096 characters, or none; it never throws', () => {
  const scheme = fc.constantFrom('Bearer ', 'Basic ', 'basic', '');
  fc.assert(
    fc.property(scheme, fc.string({ unit: 'binary', maxLength: 200 }), (word, rest) => {
      const given = readAuthorization(word + rest);
      if (given !== undefined) expect(given.token.length).toBeLessThanOrEqual(4096);
    }),
  );
});
