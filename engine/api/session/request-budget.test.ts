import { expect, test } from 'vitest';
import { RequestBudget, smallRequestBytes } from './request-budget.ts';

const mebibyte = 1024 * 1024;
const sizes = { small: smallRequestBytes, large: mebibyte };

test('large requests share three quarters; small ones still fit when those are full', () => {
  const budget = new RequestBudget(4 * mebibyte);
  for (let count = 0; count < 3; count++) expect(budget.resize(0, sizes.large)).toBe(true);
  expect(budget.resize(0, sizes.large)).toBe(false);
  expect(budget.hasRoomFor(sizes.large)).toBe(false);
  for (let count = 0; count < 16; count++) expect(budget.resize(0, sizes.small)).toBe(true);
  expect(budget.resize(0, 1)).toBe(false);
  expect(budget.heldBytes).toBe(4 * mebibyte);
  expect(budget.resize(sizes.large, 0)).toBe(true);
  expect(budget.resize(sizes.small, sizes.large)).toBe(true);
  expect(budget.resize(0, sizes.small)).toBe(true);
});

test('a request grows within its share, and released bytes are available again', () => {
  const budget = new RequestBudget(4 * mebibyte);
  expect(budget.resize(0, 100)).toBe(true);
  expect(budget.resize(100, 3 * mebibyte)).toBe(true);
  expect(budget.resize(0, sizes.large)).toBe(false);
  expect(budget.resize(3 * mebibyte, 50)).toBe(true);
  expect(budget.heldBytes).toBe(50);
  expect(budget.resize(50, 0)).toBe(true);
  expect(budget.heldBytes).toBe(0);
});

test('one large request is received whatever its size; a second one is refused', () => {
  const budget = new RequestBudget(mebibyte);
  expect(budget.hasRoomFor(8 * mebibyte)).toBe(true);
  expect(budget.resize(0, 8 * mebibyte)).toBe(true);
  expect(budget.resize(8 * mebibyte, 9 * mebibyte)).toBe(true);
  expect(budget.resize(0, sizes.large)).toBe(false);
  expect(budget.resize(0, 10)).toBe(true);
});

test('a refusal is counted, and its error names the configuration key', () => {
  const budget = new RequestBudget(mebibyte);
  const error = budget.refuse();
  expect([error.code, error.status, error.definite]).toEqual(['Overloaded', 503, true]);
  expect(error.message).toContain('1048576 bytes, client_request_bytes_max');
  expect(budget.families()[0]?.collect()).toEqual([{ labels: {}, value: 1 }]);
});
