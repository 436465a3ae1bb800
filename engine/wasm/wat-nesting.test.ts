import { expect, test } from 'vitest';

import { watNesting } from './wat-nesting.ts';

test('parentheses count as levels, and so do blocks without them', () => {
  expect(watNesting('')).toBe(0);
  expect(watNesting('(module (func (block (nop))))')).toBe(4);
  expect(watNesting('(module (func block loop if end end end block end))')).toBe(5);
  expect(watNesting('(module (func (if (i32.const 1) (then (nop)) (else (nop)))))')).toBe(5);
  expect(watNesting(`${'('.repeat(5000)}`)).toBe(101);
  expect(watNesting('(func block $b\nblock\tend end) (func block)')).toBe(3);
});

test('strings and comments do not count', () => {
  expect(watNesting('(a "((((\\"((((" ;; ((((((\n (; ((( (; ((( ;) ((( ;) (b))')).toBe(2);
  expect(watNesting('"unended ((((')).toBe(0);
  expect(watNesting('(; unended ((((')).toBe(0);
});
