/**
 * The arrows of the house: which room may import which (type imports count). Imports go down only; neighbours on a
 * line do not know each other and meet in engine/node.ts. `.ci/arrows.js` runs it and refuses to pass on nothing.
 */

const testFile = '[.](test|contract)[.]ts$';

/** engine/<room> may import these rooms (and itself). `x/*` is the files of a room without its sub-rooms. */
const below = ['props', 'ring', 'wire', 'store', 'object', 'stats', 'io', 'base'];
const peers = ['peer', 'membership', ...below];
/** What a node is made of. */
const rooms = [
  'auth',
  'api',
  'aae',
  'xa',
  'transfer',
  'mapred',
  'wasm',
  'coverage',
  'config',
  'dispatch',
  ...peers,
];
const engineArrows = {
  base: [],
  io: ['base'],
  stats: ['io', 'base'],
  object: ['io', 'base'],
  ring: ['io', 'base'],
  wire: ['object', 'io', 'base'],
  store: ['io', 'base'],
  // Bucket properties, and where they let keys live.
  props: ['ring', 'io', 'base'],
  wasm: ['stats', 'io', 'base'],
  // Who may come in.
  auth: ['stats', 'io', 'base'],
  // The requests file holds the consistency levels, which are configuration's words too.
  config: ['props', 'ring', 'io', 'base', 'dispatch/requests.ts'],
  membership: below,
  peer: ['membership', ...below],
  dispatch: peers,
  // Listings of what the cluster holds, for the API and for MapReduce.
  coverage: ['dispatch', ...peers],
  mapred: ['wasm', 'coverage', 'dispatch', ...peers],
  aae: ['dispatch', ...peers],
  xa: ['dispatch', ...peers],
  transfer: ['dispatch', ...peers],
  // The files of engine/api itself are what the listeners share.
  'api/*': ['auth', 'xa', 'mapred', 'coverage', 'dispatch', ...peers],
  'api/http': ['auth', 'api/*', 'xa', 'mapred', 'coverage', 'dispatch', ...peers],
  'api/pbc': ['auth', 'api/*', 'xa', 'mapred', 'coverage', 'dispatch', ...peers],
  'api/redis': ['auth', 'api/*', 'xa', 'coverage', 'dispatch', ...peers],
  'api/stats': ['auth', 'api/*', 'dispatch', ...peers],
  real: ['io', 'base'],
  cli: ['auth', 'config', 'wasm', 'real', 'node.ts', ...below],
  // The composition root and its parts.
  node: rooms,
  'node.ts': ['node', ...rooms],
  // What embedders import.
  'lockstep.ts': ['node.ts', 'aae', 'auth', 'config', 'dispatch', 'membership', 'real', ...below],
  'main.ts': ['cli', 'config', 'real', 'node.ts', 'io', 'base'],
};

/** sim/<room>, the scenarios and the reports: what they may never import. */
const simBans = [
  {
    name: 'only-the-world-builds-nodes',
    comment: 'sim/world is the only room of sim/ that builds a Node; take a host of the world',
    from: { path: '^(sim|scenarios|reports)/', pathNot: '^sim/world/' },
    to: { path: '^engine/node[.]ts$' },
  },
  {
    name: 'the-machine-stays-outside',
    comment: 'the doors of the machine are for engine/main.ts and engine/cli; take the doors of sim/world',
    from: { path: '^(sim|scenarios|reports)/', pathNot: '^sim/bench/' },
    to: { path: '^engine/(real/|cli/|main[.]ts$)' },
  },
  {
    name: 'checks-see-only-history',
    comment: 'sim/check judges what clients and nodes reported; take it from the history',
    from: { path: '^sim/check/' },
    to: {
      path: '^(sim|scenarios|reports|engine)/',
      pathNot: '^(sim/check/|sim/history([.]ts$|/)|engine/base/)',
    },
  },
  {
    name: 'scenarios-are-data',
    comment: 'a scenario is data of sim/scenario; the runner finds it, not the other way',
    from: { path: '^scenarios/' },
    to: { path: '^(sim/(world|run|cli|bench)/|engine/(?!base/)|reports/)' },
  },
  {
    name: 'reports-only-render',
    comment: 'reports draw results; take the result types of sim/run',
    from: { path: '^reports/' },
    to: { path: '^(sim/(world|cli|bench|load)/|engine/(?!base/)|scenarios/)' },
  },
];

function pathOf(room) {
  if (room.endsWith('/*')) return `engine/${room.slice(0, -2)}/[^/]+[.]ts$`;
  return room.endsWith('.ts') ? `engine/${room.replace('.', '[.]')}$` : `engine/${room}/`;
}

function arrowRule([room, allowed]) {
  const targets = [room, ...allowed].map(pathOf).join('|');
  return {
    name: `arrows-of-engine-${room}`,
    comment: `engine/${room} may import ${allowed.length > 0 ? allowed.join(', ') : 'no other room'}; pass the rest in`,
    severity: 'error',
    from: { path: `^${pathOf(room)}`, pathNot: testFile },
    to: { path: '^engine/', pathNot: `^(${targets})` },
  };
}

const knownRooms = Object.keys(engineArrows).map(pathOf).join('|');

module.exports = {
  forbidden: [
    ...Object.entries(engineArrows).map(arrowRule),
    {
      name: 'every-room-has-arrows',
      comment: 'a room of engine/ without a row in .dependency-cruiser.cjs; add its arrows there',
      severity: 'error',
      from: { path: '^engine/', pathNot: `^(${knownRooms})|^engine/[^/]+[.]test[.]ts$|${testFile}` },
      to: {},
    },
    {
      name: 'engine-knows-no-simulator',
      comment: 'engine/ never imports sim/, scenarios/ or reports/; not in tests either',
      severity: 'error',
      from: { path: '^engine/' },
      to: { path: '^(sim|scenarios|reports)/' },
    },
    ...simBans.map((ban) => ({
      severity: 'error',
      ...ban,
      from: { ...ban.from, pathNot: [testFile, ban.from.pathNot].filter(Boolean) },
    })),
    {
      name: 'no-circles',
      comment: 'modules that import each other are one module; move what both need below them',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-test-in-production',
      comment: 'a test is imported by nobody; move what is shared into a file of its own',
      severity: 'error',
      from: { pathNot: testFile },
      to: { path: testFile },
    },
    {
      name: 'no-development-dependency-in-production',
      comment: 'what ships needs its package under "dependencies"',
      severity: 'error',
      from: { path: '^(engine|sim|scenarios|reports)/', pathNot: `${testFile}|^sim/bench/` },
      // A peer dependency ships too; the lockfile installs it for development.
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'no-undeclared-dependency',
      comment: 'a package that package.json does not name; declare it or do without',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'nothing-unresolved',
      comment: 'an import that leads nowhere',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.test.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
