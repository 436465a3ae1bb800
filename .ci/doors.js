/**
 * The port rules for the linter: what code that runs over the ports must not use, and what it uses instead.
 *
 * The engine and the simulator's world run the same on every machine because time, chance and I/O reach them only
 * through `Io` (engine/io). Each ban below carries its replacement in its message; engine/house.test.ts lints one
 * snippet of every ban and expects that message. eslint.config.js says which files each set holds for.
 */
import { builtinModules } from 'node:module';

/** Globals, by replacement. */
const globalBans = [
  {
    names: ['Date'],
    message: 'take io.clock.nowUs() for durations and io.clock.wallMs() for the time of day',
  },
  { names: ['performance'], message: 'take io.clock.nowUs()' },
  {
    names: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'],
    message: 'take io.clock.after(delayUs, fire), or sleep(io.clock, delayUs)',
  },
  {
    names: ['setImmediate', 'clearImmediate', 'queueMicrotask', 'scheduler'],
    message: 'take io.spawn(name, task) to start work, or io.clock.after(0, fire) to do it later',
  },
  {
    names: ['process', 'navigator'],
    message: 'take what the entry point hands down: io for the machine, NodeConfig for the environment',
  },
  { names: ['console'], message: 'take io.log.event(level, name, fields)' },
  {
    names: ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest', 'BroadcastChannel', 'MessageChannel'],
    message: 'take io.network.connect(address, timeoutUs)',
  },
  {
    names: ['crypto', 'Crypto', 'CryptoKey', 'SubtleCrypto'],
    message: 'take io.random for draws, createHash of node:crypto for hashes',
  },
  {
    names: ['WeakRef', 'FinalizationRegistry', 'gc'],
    message: 'take a Map whose entries are removed by name; garbage collection has no order',
  },
  {
    names: ['Intl'],
    message: 'take code-unit comparison (left < right) and plain String(); locales differ by build',
  },
  {
    names: ['SharedArrayBuffer', 'Atomics', 'Worker'],
    message: 'take a Channel of engine/base; one node is one thread',
  },
  { names: ['require', 'module', '__dirname', '__filename'], message: 'take a static import' },
];

/** Properties, by replacement. Without `objects` the property is banned on everything. */
const propertyBans = [
  { objects: ['Math'], properties: ['random'], message: 'take io.random, or a fork of it' },
  {
    objects: ['Math'],
    properties: [
      'pow exp expm1 log log1p log2 log10 cbrt hypot',
      'sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh',
    ].flatMap((names) => names.split(' ')),
    message:
      'take integer arithmetic or a table; the last bits of Math.pow, exp, log and their kin differ by engine version',
  },
  {
    properties: ['localeCompare'],
    message: 'take code-unit comparison (left < right); locales differ by build',
  },
  {
    properties: ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'],
    message: 'take String(), toFixed() or toISOString(); locales differ by build',
  },
  {
    properties: ['toLocaleLowerCase', 'toLocaleUpperCase'],
    message: 'take toLowerCase() or toUpperCase(); locales differ by build',
  },
  {
    objects: ['WebAssembly'],
    properties: ['compile', 'instantiate', 'compileStreaming', 'instantiateStreaming'],
    message:
      'take new WebAssembly.Module and new WebAssembly.Instance; the asynchronous forms use the thread pool',
  },
  {
    objects: ['AbortSignal'],
    properties: ['timeout'],
    message: 'take io.clock.after with an AbortController',
  },
  {
    objects: ['Promise'],
    properties: ['withResolvers'],
    message: 'take a Deferred of engine/base/deferred.ts',
  },
  {
    objects: ['Error'],
    properties: ['captureStackTrace', 'prepareStackTrace', 'stackTraceLimit'],
    message: 'take a LockstepError code; stack texts differ by build',
  },
];

/** Syntax, by replacement. */
const syntaxBans = {
  promise: {
    selector: "NewExpression[callee.name='Promise']",
    message: 'new Promise: take a Deferred of engine/base/deferred.ts, or await something of a door',
  },
  moduleLet: {
    selector:
      "Program > VariableDeclaration[kind!='const'], Program > ExportNamedDeclaration > VariableDeclaration[kind!='const']",
    message: 'module-level let: take a private field; modules are shared by all nodes of a process',
  },
  moduleCollection: {
    selector:
      ':matches(Program, ExportNamedDeclaration) > VariableDeclaration > VariableDeclarator > NewExpression[callee.name=/^(Map|Set|WeakMap|WeakSet)$/][arguments.length=0]',
    message:
      'module-level empty collection: take a private field; it can only be there to be changed, and modules are shared by all nodes',
  },
  staticField: {
    selector: 'PropertyDefinition[static=true][readonly!=true]',
    message:
      'mutable static: take a private field of the instance; classes are shared by all nodes of a process',
  },
  power: {
    selector:
      "BinaryExpression[operator='**']:not([left.type='Literal'][right.type='Literal']), AssignmentExpression[operator='**=']",
    message:
      '**: take integer arithmetic, a shift or a literal; it is Math.pow, whose last bits differ by engine version',
  },
  forIn: {
    selector: 'ForInStatement',
    message: 'for-in: take a Map or Object.entries; objects put number-like keys first',
  },
  dynamicImport: {
    selector: 'ImportExpression',
    message: 'import(): take a static import; loading resolves whenever the file system answers',
  },
  stack: {
    selector: "MemberExpression[property.name='stack'][object.name=/^(error|err|e|cause|reason)$/]",
    message: 'error.stack: take error.message or its code; stack texts differ by build',
  },
};

/** The parts of Node.js that code over the ports may import: they are synchronous and pure. */
const pureModuleParts = {
  'node:crypto': ['createHash', 'hash', 'createHmac', 'timingSafeEqual'],
  'node:buffer': ['Buffer', 'constants', 'isUtf8', 'isAscii'],
};

/** Replacements of the other modules. */
const moduleReplacements = [
  { names: /^fs(\/|$)/, message: 'take io.disk' },
  { names: /^(net|tls|dgram|dns|http|https|http2|inspector)(\/|$)/, message: 'take io.network or io.http' },
  { names: /^timers(\/|$)/, message: 'take io.clock.after, or sleep(io.clock, delayUs)' },
  { names: /^(perf_hooks|diagnostics_channel|trace_events)$/, message: 'take io.clock.nowUs() and io.log' },
  { names: /^(child_process|worker_threads|cluster)$/, message: 'take io.spawn; one node is one thread' },
  {
    names: /^(process|os|tty|repl|readline)(\/|$)/,
    message: 'take what the entry point hands down in io and NodeConfig',
  },
  { names: /^async_hooks$/, message: 'take an explicit argument; AsyncLocalStorage slows every await' },
  { names: /^(events|stream)(\/|$)/, message: 'take a Channel of engine/base, or a handler of the door' },
  { names: /^(console|util)(\/|$)/, message: 'take io.log, or plain string templates' },
  {
    names: /^path(\/|$)/,
    message: 'take "/" between parts and parentOf of engine/io/disk.ts; the disk door has one form',
  },
  {
    names: /^(url|querystring|punycode|string_decoder)$/,
    message: 'take the global URL, URLSearchParams or TextDecoder',
  },
  { names: /^assert(\/|$)/, message: 'take assert of engine/base/assert.ts' },
  { names: /^test(\/|$)/, message: 'take vitest' },
];

const otherModule = 'it is the machine; take a door of io, or put it behind one in engine/real';

function replacementOf(moduleName) {
  if (moduleName === 'crypto')
    return 'take createHash of it for hashes and io.random for draws; no other part';
  if (moduleName === 'zlib') return 'take crc32 of engine/base/checksum.ts; no other part';
  if (moduleName === 'buffer') return 'take Buffer and pure functions of it; no other part';
  return moduleReplacements.find(({ names }) => names.test(moduleName))?.message ?? otherModule;
}

/** Options of no-restricted-globals. */
export const restrictedGlobals = [
  {
    globals: globalBans.flatMap(({ names, message }) =>
      names.map((name) => ({ name, message: `${name}: ${message}` })),
    ),
    checkGlobalObject: true,
    globalObjects: ['global'],
  },
];

/** Options of no-restricted-properties. */
export const restrictedProperties = propertyBans.flatMap(({ objects, properties, message }) =>
  (objects ?? [undefined]).flatMap((object) =>
    properties.map((property) => ({
      ...(object === undefined ? {} : { object }),
      property,
      message: `${property}: ${message}`,
    })),
  ),
);

/** Options of no-restricted-syntax: all bans but those named. */
export function restrictedSyntax(except = []) {
  return Object.entries(syntaxBans)
    .filter(([name]) => !except.includes(name))
    .map(([, ban]) => ban);
}

/** One row of no-restricted-imports for every module of Node.js, by both of its names. */
function builtinRows(allowed) {
  return builtinModules
    .filter((name) => !name.startsWith('_') && !name.startsWith('node:'))
    .flatMap((name) => [name, `node:${name}`])
    .map((name) => {
      const message = `${name}: ${replacementOf(name.replace('node:', ''))}`;
      const allowImportNames = allowed[name];
      return allowImportNames === undefined ? { name, message } : { name, allowImportNames, message };
    });
}

/** Packages that only certain folders may import, with those folders. */
const packageRows = {
  fastify: 'take io.http; fastify serves it in engine/real',
  pino: 'take io.log; pino writes it in engine/real',
  commander: 'arguments are read in engine/cli and sim/cli',
  chalk: 'colours are for the terminal: engine/cli and reports',
  'cli-progress': 'progress is for the terminal: reports',
  vitest: 'tests only (*.test.ts, *.contract.ts, *.fixture.ts)',
};

const seedrandomMessage =
  'seedrandom: take a stream of the Random door; only sim/world/core/random.ts makes them';

/**
 * Options of no-restricted-imports for code over the ports. `allowed` adds parts of Node.js modules; `packages` lists
 * packages of the table above that this code may import.
 */
export function restrictedImports({ allowed = {}, packages = [], seedrandom = false } = {}) {
  const rows = Object.entries(packageRows)
    .filter(([name]) => !packages.includes(name))
    .map(([name, message]) => ({ name, message: `${name}: ${message}` }));
  const patterns = seedrandom ? [] : [{ group: ['seedrandom', 'seedrandom/*'], message: seedrandomMessage }];
  // Modules in beta (node:sqlite and the like) are not in the list of every Node.js version.
  const unlisted = { regex: '^node:(sqlite|sea|test|quic|ffi)(/|$)', message: otherModule };
  return [
    {
      paths: [...builtinRows({ ...pureModuleParts, ...allowed }), ...rows],
      patterns: [...patterns, unlisted],
    },
  ];
}

/** Everywhere, tests included: seedrandom must never touch Math.random or the machine's entropy. */
export const seedrandomBans = [
  {
    selector:
      'CallExpression[callee.name=/^(seedrandom|alea)$/i] > ObjectExpression > Property[key.name=/^(global|entropy)$/]',
    message:
      'seedrandom {global} or {entropy}: take a plain seeded stream, seedrandom.alea(seed, { state: true })',
  },
  {
    selector:
      "CallExpression[callee.object.name='seedrandom'] > ObjectExpression > Property[key.name=/^(global|entropy)$/]",
    message:
      'seedrandom {global} or {entropy}: take a plain seeded stream, seedrandom.alea(seed, { state: true })',
  },
  {
    selector:
      "CallExpression[arguments.length=0]:matches([callee.name='seedrandom'], [callee.object.name='seedrandom'])",
    message: 'seedrandom without a seed: take a stream seeded from the run; no seed is the machine’s entropy',
  },
];

/** Everywhere: a cast through unknown hides wrong types. */
export const castBans = [
  {
    selector: "TSAsExpression > TSAsExpression[typeAnnotation.type='TSUnknownKeyword']",
    message: '`as unknown as`: take a type guard or correct the type',
  },
];
