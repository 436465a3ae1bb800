/** Roles of credentials, each of which may do all that the ones before it may, and what a route asks for. */

export type Role = 'read' | 'write' | 'admin';

export const roles: readonly Role[] = ['read', 'write', 'admin'];

/** What a route, a message or a command asks of who uses it: a role, or nothing at all. */
export type Access = Role | 'open';

export function mayUse(held: Role, needed: Access): boolean {
  return needed === 'open' || roles.indexOf(held) >= roles.indexOf(needed);
}
