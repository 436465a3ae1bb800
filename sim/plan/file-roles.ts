/** What a file of a node's disk is for, by its path: what a fault of the disk may be aimed at, and counted by. */

const patterns: readonly (readonly [role: string, pattern: RegExp])[] = [
  ['log', /^(store|hints)\/\d+\.log$/],
  ['hint', /^(store|hints)\/\d+\.hint(\.new)?$/],
  ['manifest', /^(store|hints)\/MANIFEST(\.new)?$/],
  ['identity', /^identity(\.new)?$/],
  ['members', /^members(\.new)?$/],
  ['snapshot', /^aae\//],
];

/** The role of the file at a path; `other` for what none of the rooms writes. */
export function roleOf(path: string): string {
  return patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';
}

/** Whether a file plays the role that a fault names; `any` is every file's. */
export function playsRole(path: string, role: string): boolean {
  return role === 'any' || roleOf(path) === role;
}
