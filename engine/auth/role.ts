/** Roles of credentials, and the access that a route needs. Each role includes the ones before it. */

/** The role of a credential. */
export type Role = 'read' | 'write' | 'admin';

/** All roles, the least first. */
export const roles: readonly Role[] = ['read', 'write', 'admin'];

/** What a route, a message or a command needs: a role, or no authentication. */
export type Access = Role | 'open';

/** Whether a client with role `held` may do what needs `needed`. */
export function mayUse(held: Role, needed: Access): boolean {
  return needed === 'open' || roles.indexOf(held) >= roles.indexOf(needed);
}
