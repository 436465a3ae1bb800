/** Lint rules: typed rules for all TypeScript, and the port rules (.ci/doors.js) for code behind the ports. */
import eslint from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

import {
  castBans,
  restrictedGlobals,
  restrictedImports,
  restrictedProperties,
  restrictedSyntax,
  seedrandomBans,
} from './.ci/doors.js';
import { docstrings } from './.ci/docstrings.js';
import { retiredWords } from './.ci/retired-words.js';

const tests = ['**/*.test.ts', '**/*.contract.ts', '**/*.fixture.ts'];

/** The machine's side of the doors, and the entry points: here real time, files and processes are the subject. */
const engineOutside = ['engine/main.ts', 'engine/cli/**', 'engine/real/**'];

/**
 * The simulator's outside, file by file: entry points, what other projects' tests call, the pool that runs seeds in
 * parallel, what a browser needs, what measures real time, what starts real processes.
 */
const simOutside = [
  'sim/main.ts',
  'sim/browser/**',
  'sim/cli/**',
  'sim/embedding/**',
  'sim/runner/pool/**',
  'sim/bench/**',
  'sim/conform/**',
  'sim/processes/**',
];

/** Scripts of a browser, which draw; a type check of their own knows its globals. */
const pages = ['reports/page/**', 'engine/console/**'];

/**
 * Turns the world: Node.js's own function drains the microtasks between two events, and a rejection that nobody
 * heard of (an event of `process`) ends the run; nothing else.
 */
const simDrivers = ['sim/world/core/driver.ts'];

/** The only file that makes pseudo-random streams. */
const simStreams = ['sim/world/core/random.ts'];

const houseSyntax = [...castBans, ...seedrandomBans];

/** The door rules, loosened by what one place needs. */
function doorRules({ imports = {}, syntaxExcept = [], globalsExcept = [] } = {}) {
  const globals = restrictedGlobals.map((options) => ({
    ...options,
    globals: options.globals.filter(({ name }) => !globalsExcept.includes(name)),
  }));
  return {
    'no-restricted-globals': ['error', ...globals],
    'no-restricted-properties': ['error', ...restrictedProperties],
    'no-restricted-imports': ['error', ...restrictedImports(imports)],
    'no-restricted-syntax': ['error', ...houseSyntax, ...restrictedSyntax(syntaxExcept)],
    '@typescript-eslint/require-array-sort-compare': ['error', { ignoreStringArrays: true }],
  };
}

const typedRules = {
  '@typescript-eslint/ban-ts-comment': ['error', { 'ts-expect-error': true, minimumDescriptionLength: 3 }],
  '@typescript-eslint/consistent-type-exports': 'error',
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
  '@typescript-eslint/explicit-module-boundary-types': 'error',
  '@typescript-eslint/no-explicit-any': 'error',
  '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: false }],
  '@typescript-eslint/no-import-type-side-effects': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/no-non-null-assertion': 'error',
  '@typescript-eslint/no-unnecessary-condition': [
    'error',
    { allowConstantLoopConditions: 'only-allowed-literals' },
  ],
  '@typescript-eslint/no-unnecessary-type-arguments': 'error',
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/prefer-readonly': 'error',
  // `return p` and `return await p` take different numbers of turns: only where it is a matter of correctness.
  '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
  '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  '@typescript-eslint/use-unknown-in-catch-callback-variable': 'error',
  // Numbers and booleans in templates are plain; objects and promises are mistakes.
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  // A function of a contract is async so that it rejects rather than throws.
  '@typescript-eslint/require-await': 'off',
  // The compiler's noUnusedLocals and noUnusedParameters say it.
  '@typescript-eslint/no-unused-vars': 'off',
  eqeqeq: 'error',
  'max-lines': ['error', { max: 600 }],
  'max-lines-per-function': ['error', { max: 80 }],
  'no-restricted-syntax': ['error', ...houseSyntax],
  'object-shorthand': 'error',
  'prefer-const': 'error',
};

export default defineConfig(
  { ignores: ['dist', 'dist-*', 'coverage', 'data', 'node_modules'] },
  { linterOptions: { noInlineConfig: true, reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    name: 'lockstep/words',
    files: ['**/*.ts', '.ci/*.js'],
    ignores: ['.ci/retired-words.js'],
    plugins: { lockstep: { rules: { 'retired-words': retiredWords, docstrings } } },
    rules: { 'lockstep/retired-words': 'error' },
  },
  {
    name: 'lockstep/docstrings',
    files: ['engine/**/*.ts', 'sim/**/*.ts', 'reports/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.contract.ts', '**/*.fixture.ts', '**/*.d.ts'],
    rules: { 'lockstep/docstrings': 'error' },
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.test.json', './tsconfig.page.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: typedRules,
  },
  {
    name: 'lockstep/engine-doors',
    files: ['engine/**/*.ts'],
    ignores: [...engineOutside, ...pages, ...tests],
    rules: doorRules(),
  },
  {
    name: 'lockstep/base',
    files: ['engine/base/**/*.ts'],
    ignores: tests,
    rules: doorRules({ syntaxExcept: ['promise'] }),
  },
  {
    name: 'lockstep/checksum',
    files: ['engine/base/checksum.ts'],
    rules: doorRules({ imports: { allowed: { 'node:zlib': ['crc32'] } } }),
  },
  {
    name: 'lockstep/sim-doors',
    files: ['sim/**/*.ts', 'scenarios/**/*.ts', 'reports/**/*.ts'],
    ignores: [...simOutside, ...pages, ...tests],
    rules: doorRules({ imports: { packages: ['chalk', 'cli-progress'] } }),
  },
  {
    name: 'lockstep/sim-driver',
    files: simDrivers,
    rules: doorRules({ syntaxExcept: ['promise'], globalsExcept: ['setImmediate', 'process'] }),
  },
  {
    name: 'lockstep/sim-streams',
    files: simStreams,
    rules: doorRules({ imports: { seedrandom: true } }),
  },
  {
    name: 'lockstep/tests',
    files: tests,
    rules: {
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      'max-lines': 'off',
      'max-lines-per-function': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: { console: 'readonly', process: 'readonly', module: 'writable', URL: 'readonly' },
    },
  },
);
