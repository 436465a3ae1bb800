/** Three credentials, one of each role, for tests of the listeners. */
import type { Credential } from './credentials.ts';
import { digestOf, parseLimits } from './credentials.ts';
import type { Role } from './role.ts';

/** The tokens, by role. */
export const tokens: Readonly<Record<Role, string>> = {
  read: 'token-of-rita-0123456789',
  write: 'token-of-will-0123456789',
  admin: 'token-of-anna-0123456789',
};

/** The names, by role. */
export const names: Readonly<Record<Role, string>> = { read: 'rita', write: 'will', admin: 'anna' };

/** The credentials, with the least role first. */
export const threeCredentials: readonly Credential[] = (['read', 'write', 'admin'] as const).map((role) => ({
  name: names[role],
  role,
  digest: digestOf(tokens[role]),
}));

/** The token of a client with `limitedCredential`. */
export const limitedToken = 'token-of-lena-0123456789';

/** A credential whose limits are those of `fields`, such as `bucket=shop:*` and `rate=2`. */
export function limitedCredential(role: Role, ...fields: readonly string[]): Credential {
  const limits = parseLimits(fields);
  if (typeof limits === 'string') throw new Error(limits);
  return { name: 'lena', role, digest: digestOf(limitedToken), ...limits };
}
