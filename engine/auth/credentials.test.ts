import fc from 'fast-check';
import { expect, test } from 'vitest';

import { LockstepError } from '../base/errors.ts';
import type { Credential } from './credentials.ts';
import { credentialCountMax, credentialLine, digestOf, parseCredentials } from './credentials.ts';
import { roles } from './role.ts';

const hex = digestOf('a').reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '');

function faultsOf(text: string): readonly string[] {
  try {
    parseCredentials(text, 'f');
    return [];
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    expect(error.code).toBe('ConfigInvalid');
    return error.message.split('\n');
  }
}

test('a digest is SHA-256, by its published vector', () => {
  expect(Buffer.from(digestOf('abc')).toString('hex')).toBe(
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});

test('credentials round-trip through their lines, whatever comments are between them', () => {
  const name = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/);
  const credential = fc.record({
    name,
    role: fc.constantFrom(...roles),
    token: fc.uint8Array({ minLength: 20, maxLength: 40 }),
  });
  const many = fc.uniqueArray(credential, {
    comparator: (left, right) => left.name === right.name || Buffer.compare(left.token, right.token) === 0,
    maxLength: 20,
  });
  fc.assert(
    fc.property(many, fc.constantFrom('\n', '\r\n', '\n\n# a remark\n', ' \n\t'), (given, between) => {
      const credentials = given.map(({ token, ...rest }): Credential => ({
        ...rest,
        digest: digestOf(token),
      }));
      const read = parseCredentials(credentials.map(credentialLine).join(between), 'f');
      expect(read.map(credentialLine)).toEqual(credentials.map(credentialLine));
    }),
  );
});

test('any file is read or refused by line, and its text is never shown', () => {
  const words = fc.stringMatching(/^[a-zA-Z0-9:]{24,40}$/);
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.string(), fc.constant(' '))), fc.string(), (parts, junk) => {
      const text = parts.join(' ') + junk;
      for (const fault of faultsOf(text)) {
        expect(fault).toMatch(/^f(:\d+)?: /);
        for (const part of parts) if (part.length >= 24) expect(fault).not.toContain(part);
      }
    }),
  );
});

test.each([
  ['ann admin', 'f:1: it has not the form: name role sha256:digest [bucket=RULE ...] [rate=N [burst=N]]'],
  [`ann admin sha256:${hex} more`, 'f:1: a field is none of bucket=RULE, rate=N and burst=N'],
  [`a/b admin sha256:${hex}`, 'f:1: the name has not the form: 1 to 64 of A-Z a-z 0-9 _ . -'],
  [`\nann root sha256:${hex}`, 'f:2: the role is none; allowed: read, write, admin'],
  ['ann read sha256:abc', 'f:1: the digest has not the form: sha256: and 64 of 0-9 a-f'],
  [`ann read md5:${hex}`, 'f:1: the digest has not the form: sha256: and 64 of 0-9 a-f'],
])('%j is refused: %s', (text, fault) => {
  expect(faultsOf(text)).toEqual([fault]);
});

test('two credentials with one name, or with one token, are refused as ambiguous', () => {
  expect(faultsOf(`ann read sha256:${hex}\nann admin sha256:${'0'.repeat(64)}`)).toEqual([
    'f:2: it has the name of line 1; each must have its own',
  ]);
  expect(faultsOf(`ann read sha256:${hex}\nbob admin sha256:${hex}`)).toEqual([
    'f:2: it has the token of line 1; each must have its own',
  ]);
});

test('more credentials than allowed are refused', () => {
  const lines = Array.from({ length: credentialCountMax + 1 }, (_, index) =>
    credentialLine({ name: `n${index}`, role: 'read', digest: digestOf(`${index}`) }),
  );
  expect(faultsOf(lines.join('\n'))).toEqual(['f: 1001 credentials given; allowed: at most 1000']);
});
