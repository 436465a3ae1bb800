/**
 * Who may come in, in worlds whose settings say `credentials`: one of each role. The tokens stand here, since what a
 * simulated client says must be the same in every run.
 */
import type { Credential } from '../../../engine/auth/credentials.ts';
import { digestOf } from '../../../engine/auth/credentials.ts';
import type { Role } from '../../../engine/auth/role.ts';
import { roles } from '../../../engine/auth/role.ts';

export const worldTokens: Readonly<Record<Role, string>> = {
  read: 'the-token-of-the-reader',
  write: 'the-token-of-the-writer',
  admin: 'the-token-of-the-admin',
};

export const worldCredentials: readonly Credential[] = roles.map((role) => ({
  name: `${role}er`,
  role,
  digest: digestOf(worldTokens[role]),
}));
