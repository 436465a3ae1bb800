/**
 * The credentials of worlds whose settings say `credentials`: one of each role, one that is limited to some buckets,
 * one that is limited to a request a second, and one that an operator changes. The tokens are constants, because a simulated client must send the same in
 * every run.
 */
import { parseBucketRule } from '../../../engine/auth/bucket-rules.ts';
import type { Credential } from '../../../engine/auth/credentials.ts';
import { digestOf } from '../../../engine/auth/credentials.ts';
import type { Role } from '../../../engine/auth/role.ts';
import { roles } from '../../../engine/auth/role.ts';

/** The token of each role, and those of the limited writer and of the hurried reader. */
export const worldTokens: Readonly<Record<Role | 'limited' | 'hurried', string>> = {
  read: 'the-token-of-the-reader',
  write: 'the-token-of-the-writer',
  admin: 'the-token-of-the-admin',
  limited: 'the-token-of-the-limited-writer',
  hurried: 'the-token-of-the-hurried-reader',
};

/** The two tokens of the credential that an operator changes (`credential-change`); the first is in force at the start. */
export const rotatedTokens = {
  first: 'the-token-of-the-rotated-writer',
  second: 'the-other-token-of-the-rotated-writer',
} as const;

/** The buckets of the limited credential. */
export const limitedRules = [parseBucketRule('mine:*')].filter((rule) => rule !== undefined);

/** The credentials as nodes load them. */
export const worldCredentials: readonly Credential[] = [
  ...roles.map((role) => ({ name: `${role}er`, role, digest: digestOf(worldTokens[role]) })),
  { name: 'limited', role: 'write', digest: digestOf(worldTokens.limited), buckets: limitedRules },
  { name: 'rotated', role: 'write', digest: digestOf(rotatedTokens.first) },
  {
    name: 'hurried',
    role: 'read',
    digest: digestOf(worldTokens.hurried),
    rate: { perSecond: 1, burst: 1 },
  },
];
