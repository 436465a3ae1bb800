/** Tests which errors are answers and which are bugs of the program. */
import { expect, test } from 'vitest';

import { asLockstepError, LockstepError, onProgramError } from './errors.ts';

test('an error that JavaScript itself has thrown is reported before it becomes an answer', () => {
  const reported: Error[] = [];
  const bug = new TypeError('x is undefined');
  const unwatch = onProgramError((error) => reported.push(error));
  expect(asLockstepError(bug)).toMatchObject({ code: 'Internal', message: 'x is undefined', cause: bug });
  unwatch();
  asLockstepError(bug);
  expect(reported).toEqual([bug]);
});

test('an error of the table, or of the environment, is no bug', () => {
  const reported: Error[] = [];
  const unwatch = onProgramError((error) => reported.push(error));
  const refusal = new LockstepError('Timeout');
  expect(asLockstepError(refusal)).toBe(refusal);
  expect(asLockstepError(new Error('EIO')).code).toBe('Internal');
  unwatch();
  expect(reported).toEqual([]);
});
