import { expect, test } from 'vitest';
import { assert, AssertionError, failAssertion, onFailedAssertion, present } from './assert.ts';

test('a failed assertion names what was expected and what was found', () => {
  expect(() => failAssertion('a lock has one holder', 'n1', 2, undefined)).toThrow(
    new AssertionError('a lock has one holder; found n1, 2, '),
  );
  expect(() => assert(false, 'the queue is empty')).toThrow(new AssertionError('the queue is empty'));
  expect(() => present(undefined, 'the segment')).toThrow(new AssertionError('the segment is absent'));
  expect(present(0, 'a count')).toBe(0);
});

test('listeners hear of a failure before any catch does, until they are removed', () => {
  const heard: string[] = [];
  const remove = onFailedAssertion((error) => heard.push(error.message));
  const swallow = (): void => {
    try {
      assert(false, 'one');
    } catch {
      heard.push('caught');
    }
  };
  swallow();
  remove();
  swallow();
  expect(heard).toEqual(['one', 'caught', 'caught']);
});
