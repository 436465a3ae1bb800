import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileGlob } from './glob.ts';

function matches(pattern: string, name: string): boolean {
  return compileGlob(Buffer.from(pattern))(name);
}

/** The reference matcher: tries every possibility. */
function naive(pattern: string, name: string): boolean {
  const [first] = pattern;
  if (first === undefined) return name === '';
  if (first === '*') return naive(pattern.slice(1), name) || (name !== '' && naive(pattern, name.slice(1)));
  return name !== '' && (first === '?' || first === name[0]) && naive(pattern.slice(1), name.slice(1));
}

test('stars and question marks match as the reference matcher does', () => {
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
  fc.assert(
    fc.property(pattern, name, (one, other) => {
      expect(matches(one, other)).toBe(naive(one, other));
    }),
    { numRuns: 1000 },
  );
});

test('sets, ranges and escapes', () => {
  expect(matches('h[ae]llo', 'hallo')).toBe(true);
  expect(matches('h[ae]llo', 'hillo')).toBe(false);
  expect(matches('h[^e]llo', 'hallo')).toBe(true);
  expect(matches('[a-c]*', 'beta')).toBe(true);
  expect(matches('[c-a]', 'b')).toBe(true);
  expect(matches(String.raw`a\*b`, 'a*b')).toBe(true);
  expect(matches(String.raw`a\*b`, 'axb')).toBe(false);
  expect(matches('[ab', 'a')).toBe(true);
});

test('a dash before the end of a set, and one behind an escape, mean what they mean to redis-server 7.0.15', () => {
  const names = ['a', 'b', 'z', '-', ']', '[', '^', '\\', 'a-', 'b-', 'z-', ']-', '--', '^-'];
  const named = (pattern: string): string[] => names.filter((name) => matches(pattern, name));
  expect(named('[[^bb-]')).toEqual(['a', 'b', ']', '[', '^']);
  expect(named('[[-]z-')).toEqual(['z', '-', ']', '[', '\\']);
  expect(named('[baz-]-')).toEqual(['a', 'b', 'z', '-', ']', '^']);
  expect(named(String.raw`[-\z-*`)).toEqual(['z', '-']);
  expect(named(String.raw`[\z-\^?`)).toEqual(['z', '-', '^']);
  expect(named(String.raw`b[\\-z`)).toEqual(['b-']);
});

test('a pattern of many stars takes at most pattern times name steps', () => {
  expect(matches('*a'.repeat(30) + 'b', 'a'.repeat(5000))).toBe(false);
});
