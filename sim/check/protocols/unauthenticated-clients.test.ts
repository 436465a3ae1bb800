import { expect, it } from 'vitest';

import type { CredentialAnswer } from '../../evidence/credential-changes.ts';
import { checkChangedCredentials } from './unauthenticated-clients.ts';

const kept: CredentialAnswer = {
  ...{ node: 'n1', atUs: 5, asked: 'f0: pb', expected: 'kept', answered: 'done', lived: true },
};

/** The first reason, or how many comparisons were made. */
function verdict(answer: Partial<CredentialAnswer>, steady = true): string | number {
  const { reasons, checked } = checkChangedCredentials([{ ...kept, ...answer }], steady);
  return reasons[0] ?? checked;
}

it('a changed credential is refused at once, and its subscriber hears nothing', () => {
  expect(verdict({ expected: 'refused', answered: 'NOAUTH' })).toBe(1);
  expect(verdict({ expected: 'refused', answered: 'done' })).toContain('must be refused');
  expect(verdict({ expected: 'refused', answered: undefined })).toBe(0);
  expect(verdict({ expected: 'silence', answered: 'silence' })).toBe(1);
  expect(verdict({ expected: 'silence', answered: 'message' })).toContain('sent a message');
});

it('a client of another credential notices nothing, whatever else its request meets', () => {
  expect(verdict({})).toBe(1);
  expect(verdict({ answered: 'NoQuorum' })).toBe(1);
  expect(verdict({ answered: 'Unauthorized' })).toContain('must be kept');
  expect(verdict({ answered: undefined })).toContain('did not answer');
  expect(verdict({ answered: undefined, lived: false })).toBe(0);
  expect(verdict({ answered: undefined }, false)).toBe(0);
});
