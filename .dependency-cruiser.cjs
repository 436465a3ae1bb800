/**
 * The dependency rules of the project: which module may import which (type imports count). Imports go down only; modules
 * on one line do not know each other and meet in engine/node/. `.ci/arrows.js` runs the rules and refuses to pass on
 * nothing.
 */

const testFile = '[.](test|contract|fixture)[.]ts$';

/** What nearly every module of the engine stands on. */
const ports = ['io', 'base'];
/** Cluster-wide reads and writes of objects, and what carries them. */
const replicated = ['replication', 'replica', 'replica/object', 'peer/wire', 'cluster/ring', ...ports];
/** What a node is composed of. */
const modules = [
  'anti-entropy',
  'api',
  'auth',
  'backup',
  'buckets',
  'cluster',
  'config',
  'mapreduce',
  'metrics',
  'peer',
  'replica',
  'replication',
  'storage',
  'transactions',
  'wasm',
  ...ports,
];

/** What every command of the command line uses. */
const commandBase = [
  'cli/exit-codes.ts',
  'cli/help-text.ts',
  'cli/invocation.ts',
  'cli/terminal.ts',
  ...ports,
];

/**
 * engine/<module> may import these modules (and itself). `x/*` is the files of a folder without its subfolders; a folder
 * with a row of its own is not part of the folder that it lies in.
 */
const engineArrows = {
  base: [],
  io: ['base'],
  metrics: ports,
  'cluster/ring': ['base'],
  'replica/object': ['base'],
  'peer/wire': ports,
  storage: ports,
  auth: ['metrics', ...ports],
  wasm: ['metrics', ...ports],
  // Bucket properties, and where they let keys live.
  buckets: ['cluster/ring', ...ports],
  // The requests file holds the consistency levels, which configuration names too.
  config: ['buckets', 'cluster/ring', 'replication/requests.ts', ...ports],
  // The members and the ring as a node sees them; the view is part of what membership keeps.
  'cluster/view': ['cluster/membership', 'cluster/ring', ...ports],
  'cluster/membership': ['cluster/view', 'cluster/ring', 'metrics', 'peer/wire', ...ports],
  'peer/*': ['peer/wire', ...ports],
  // One node's copies, over its store.
  'replica/*': ['replica/object', 'storage', ...ports],
  // From a client's request to the replicas and back.
  'replication/hints': replicated,
  'replication/tombstones': ['replication/hints', ...replicated],
  'replication/*': [
    'replication/hints',
    'replica',
    'replica/object',
    'buckets',
    'cluster/ring',
    'metrics',
    'peer/wire',
    'storage',
    ...ports,
  ],
  'anti-entropy': ['metrics', 'storage', ...replicated],
  'cluster/changes': ['cluster/membership', ...replicated],
  transactions: ['cluster/membership', 'metrics', 'storage', ...replicated],
  // The cut of a cluster, its files, and what they hold. It reads stores and logs; it asks nodes over their listeners.
  backup: ['buckets', 'replica', 'replica/object', 'storage', 'transactions', ...ports],
  // Listings of what the cluster holds, for the API and for MapReduce.
  'mapreduce/listing': replicated,
  'mapreduce/*': ['mapreduce/listing', 'metrics', 'wasm', ...replicated],
  // The files of engine/api itself are what the listeners share; a session is what the binary protocols share.
  'api/session': ['metrics', ...ports],
  'api/*': ['auth', 'buckets', 'mapreduce', 'mapreduce/listing', 'transactions', ...replicated],
  'api/http': ['api/*', 'auth', 'buckets', 'mapreduce', 'metrics', 'transactions', ...replicated],
  'api/pbc': ['api/*', 'api/session', 'auth', 'buckets', 'mapreduce', 'transactions', ...replicated],
  'api/redis': ['api/*', 'api/session', 'auth', 'transactions', ...replicated],
  'api/stats': ['api/*', 'auth', 'metrics', ...ports],
  real: ports,
  // The console's page, which knows the shapes of its node's answers alone.
  console: ['api/http'],
  // The composition root.
  node: modules,
  // The command line: what all commands share, the groups of commands, and the program that lists them.
  'cli/files': [...commandBase, 'auth', 'config', 'real'],
  'cli/start': [...commandBase, 'cli/files', 'config', 'node/node.ts', 'real', 'storage'],
  'cli/local-cluster': [...commandBase, 'cli/files', 'cli/start', 'config', 'real', 'storage'],
  'cli/operate': [...commandBase, 'cli/files', 'node/node.ts'],
  'cli/data': [...commandBase, 'cli/operate'],
  'cli/store': [...commandBase, 'node/node.ts', 'real', 'storage'],
  'cli/backup': [...commandBase, 'backup', 'cli/data', 'cli/operate', 'cli/store', 'real'],
  'cli/*': [
    'cli/backup',
    'cli/data',
    'cli/files',
    'cli/local-cluster',
    'cli/operate',
    'cli/start',
    'cli/store',
    'real',
    'wasm',
    ...ports,
  ],
  // What embedders import.
  'lockstep.ts': [
    'anti-entropy',
    'auth',
    'cluster/membership',
    'cluster/ring',
    'config',
    'metrics',
    'node/node.ts',
    'peer/wire',
    'real',
    'replica',
    'replica/object',
    'replication',
    'storage',
    ...ports,
  ],
  'main.ts': ['cli/flushed.ts', 'cli/program.ts', 'real/bundled-code.ts'],
};

/**
 * The groups of sim/check may import these groups, besides their own files and what all checks stand on: the files of
 * sim/check itself that a check needs, sim/evidence and engine/base. Lists of all invariants import every group.
 */
const checkArrows = {
  backups: ['objects', 'protocols', 'transactions'],
  'anti-entropy': [],
  disks: [],
  mapreduce: [],
  program: [],
  protocols: [],
  'metrics/reconcile': [],
  metrics: ['metrics/reconcile'],
  bounds: ['metrics/reconcile'],
  cluster: ['metrics/reconcile'],
  transactions: ['cluster', 'protocols'],
  objects: ['protocols', 'transactions'],
};

/** sim/<module>, the scenarios and the reports: what they may never import. */
const simBans = [
  {
    name: 'only-the-world-builds-nodes',
    comment: 'sim/world is the only module of sim/ that builds a Node; take a host of the world',
    from: { path: '^(sim|scenarios|reports)/', pathNot: '^sim/world/' },
    to: { path: '^engine/node/(node|services)[.]ts$' },
  },
  {
    name: 'the-machine-stays-outside',
    comment:
      "the machine's ports are for engine/main.ts and engine/cli; take the ports of sim/world (the loader of bundles is no port)",
    from: { path: '^(sim|scenarios|reports)/', pathNot: '^sim/(bench|conform)/' },
    to: { path: '^engine/(real/(?!bundled-code[.]ts$)|cli/|main[.]ts$)' },
  },
  {
    name: 'processes-know-no-run',
    comment:
      'sim/processes starts and disturbs processes; sim/conform and sim/bench use it, not the other way',
    from: { path: '^sim/processes/' },
    to: {
      path: '^(sim/(?!processes/|world/|faults/)|scenarios/|reports/|engine/(?!peer/wire/))',
    },
  },
  {
    name: 'conform-is-a-command',
    comment: 'sim/conform runs in real time; only the command line may import it',
    from: { path: '^(sim|scenarios|reports|engine)/', pathNot: '^sim/(conform|cli)/' },
    to: { path: '^sim/conform/' },
  },
  {
    name: 'checks-see-only-evidence',
    comment: 'sim/check judges what clients and nodes reported; take it from sim/evidence',
    from: { path: '^sim/check/' },
    to: {
      path: '^(sim|scenarios|reports|engine)/',
      pathNot: '^(sim/check/|sim/evidence/|engine/base/)',
    },
  },
  {
    name: 'evidence-is-data',
    comment: 'sim/evidence holds plain records; whoever gathers or judges them imports it, not the other way',
    from: { path: '^sim/evidence/' },
    to: { path: '^(sim/(?!evidence/|plan/)|scenarios/|reports/|engine/(?!base/))' },
  },
  {
    name: 'plans-are-data',
    comment: 'sim/plan makes and reads plans; it knows no world, no clients and no runner',
    from: { path: '^sim/plan/' },
    to: { path: '^(sim/(world|workload|observe|runner|explore|cli|bench|mutants)/|scenarios/|reports/)' },
  },
  {
    name: 'faults-load-no-world',
    comment: 'plans read the table of faults without a world; take types of it, and act through FaultContext',
    from: { path: '^sim/faults/', pathNot: '^sim/faults/faults[.]ts$' },
    to: { path: '^sim/(world|workload|observe|runner)/', dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'the-world-knows-no-run',
    comment:
      'sim/world simulates machines; what a run observes, drives and judges imports it, not the other way',
    from: { path: '^sim/world/' },
    to: { path: '^(sim/(faults|observe|runner|explore|cli|bench|mutants|embedding)/|scenarios/|reports/)' },
  },
  {
    name: 'scenarios-are-data',
    comment: 'a scenario is data of sim/plan; the runner finds it, not the other way',
    from: { path: '^scenarios/' },
    to: { path: '^(sim/(world|workload|runner|cli|bench|observe)/|engine/(?!base/)|reports/)' },
  },
  {
    name: 'reports-only-render',
    comment: 'reports draw results; take the result types of sim/runner, and elements of engine/console/dom',
    from: { path: '^reports/' },
    to: { path: '^(sim/(world|cli|bench|workload|observe)/|engine/(?!base/|console/dom[.]ts$)|scenarios/)' },
  },
];

const checkGroups = Object.entries(checkArrows).map(([group, allowed]) => ({
  name: `arrows-of-sim-check-${group}`,
  comment: `sim/check/${group} may import ${allowed.length > 0 ? allowed.join(', ') : 'no other group of checks'}`,
  from: { path: `^sim/check/${group}/${group === 'metrics' ? '[^/]+$' : ''}` },
  to: {
    path: '^sim/check/',
    pathNot: `^sim/check/(${[group, ...allowed].map((one) => `${one}/[^/]+$`).join('|')}|(invariant|named|report)[.]ts$)`,
  },
}));

const rows = Object.keys(engineArrows);

/** A pattern of the files of a module, without those of its subfolders that have a row of their own. */
function pathOf(module) {
  if (module.endsWith('/*')) return `engine/${module.slice(0, -2)}/[^/]+[.]ts$`;
  if (module.endsWith('.ts')) return `engine/${module.replace('.', '[.]')}$`;
  const own = rows.filter((row) => row.startsWith(`${module}/`) && !row.endsWith('/*'));
  const inner = own.map((row) => `${row.slice(module.length + 1)}/`).join('|');
  return own.length > 0 ? `engine/${module}/(?!${inner})` : `engine/${module}/`;
}

/** A node is composed of all parts of its modules. */
function targetOf(module, from) {
  return from === 'node' ? `engine/${module}/` : pathOf(module);
}

function arrowRule([module, allowed]) {
  const targets = [pathOf(module), ...allowed.map((one) => targetOf(one, module))].join('|');
  return {
    name: `arrows-of-engine-${module}`,
    comment: `engine/${module} may import ${allowed.length > 0 ? allowed.join(', ') : 'no other module'}; pass the rest in`,
    severity: 'error',
    from: { path: `^${pathOf(module)}`, pathNot: testFile },
    to: { path: '^engine/', pathNot: `^(${targets})` },
  };
}

const knownModules = rows.map(pathOf).join('|');
module.exports = {
  forbidden: [
    ...Object.entries(engineArrows).map(arrowRule),
    {
      name: 'every-module-has-arrows',
      comment: 'a module of engine/ without a row in .dependency-cruiser.cjs; add its arrows there',
      severity: 'error',
      from: { path: '^engine/', pathNot: `^(${knownModules})|^engine/[^/]+[.]test[.]ts$|${testFile}` },
      to: {},
    },
    {
      name: 'engine-knows-no-simulator',
      comment: 'engine/ never imports sim/, scenarios/ or reports/; not in tests either',
      severity: 'error',
      from: { path: '^engine/' },
      to: { path: '^(sim|scenarios|reports)/' },
    },
    {
      name: 'every-check-is-in-a-group',
      comment: 'a folder of sim/check without a row in .dependency-cruiser.cjs; add its arrows there',
      severity: 'error',
      from: {
        path: '^sim/check/.+/',
        pathNot: `^sim/check/(${Object.keys(checkArrows).join('|')})/[^/]+$|${testFile}`,
      },
      to: {},
    },
    ...[...simBans, ...checkGroups].map((ban) => ({
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
      from: {
        path: '^(engine|sim|scenarios|reports)/',
        // The build bundles what a browser needs. Generated mutants ask for the compiler, and say so where it is absent.
        pathNot: `${testFile}|^sim/bench/|^sim/browser/node/|^sim/cli/generated-mutants-command[.]ts$`,
      },
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
