/** Maps paths of a node's disk to roles: what a disk fault may aim at, and by what its injections are counted. */

const patterns: readonly (readonly [role: string, pattern: RegExp])[] = [
  ['log', /^(store|hints)\/\d+\.log$/],
  ['hint', /^(store|hints)\/\d+\.hint(\.new)?$/],
  ['manifest', /^(store|hints)\/MANIFEST(\.new)?$/],
  ['identity', /^identity(\.new)?$/],
  ['members', /^members(\.new)?$/],
  ['snapshot', /^aae\//],
];

/** Directories that a fault may name in place of a role: all files of one of the two stores. */
const directories: Readonly<Record<string, string>> = { objects: 'store/', hints: 'hints/' };

/** The role of the file at a path; `other` for a path that no module of the engine writes. */
export function roleOf(path: string): string {
  return patterns.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';
}

/** Whether the file has the role that a fault names, or is in the store; `any` matches every file. */
export function playsRole(path: string, role: string): boolean {
  const directory = directories[role];
  if (directory !== undefined) return path.startsWith(directory);
  return role === 'any' || roleOf(path) === role;
}
