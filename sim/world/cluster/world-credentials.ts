/**
 * The credentials of worlds whose settings say `credentials`: one of each role. The tokens are constants, because a
 * simulated client must send the same in every run.
 */
import type { Credential } from '../../../engine/auth/credentials.ts';
import { digestOf } from '../../../engine/auth/credentials.ts';
import type { Role } from '../../../engine/auth/role.ts';
import { roles } from '../../../engine/auth/role.ts';

/** The token of each role. */
export const worldTokens: Readonly<Record<Role, string>> = {
  read: 'the-token-of-the-reader',
  write: 'the-token-of-the-writer',
  admin: 'the-token-of-the-admin',
};

/** The credentials as nodes load them. */
export const worldCredentials: readonly Credential[] = roles.map((role) => ({
  name: `${role}er`,
  role,
  digest: digestOf(worldTokens[role]),
}));
