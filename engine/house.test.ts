/** Checks rules of the repository that no other tool checks, and that every ban of the linter fires. */
import { ESLint } from 'eslint';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { version } from './base/version.ts';

const root = join(import.meta.dirname, '..');
const rooms = ['engine', 'sim', 'scenarios', 'reports'];
const sources = rooms.flatMap((room) => filesBelow(room)).filter((file) => file.endsWith('.ts'));
const isTest = (file: string) => /\.(test|contract|fixture)\.ts$/.test(file);

describe('the lockfile', () => {
  it('names no registry', () => {
    expect(textOf('package-lock.json')).not.toMatch(/"resolved"|https?:\/\/[^"]*registry/);
  });

  it('has a checksum for every package', () => {
    const packages = recordIn(recordIn(JSON.parse(textOf('package-lock.json'))), 'packages');
    const unchecked = Object.keys(packages).filter((path) => {
      const entry = recordIn(packages, path);
      return path !== '' && entry['inBundle'] !== true && typeof entry['integrity'] !== 'string';
    });
    expect(unchecked).toEqual([]);
  });

  it('has no package that needs a Node.js newer than 20, which npm would warn of or refuse', () => {
    const packages = recordIn(recordIn(JSON.parse(textOf('package-lock.json'))), 'packages');
    const asking = Object.keys(packages).flatMap((path) => {
      const node = (recordIn(packages, path)['engines'] as { node?: string } | undefined)?.node;
      return node === undefined || /(^|[^\d.])\^?20\b|>=? *(20|1?\d|v?0)\b|\*/.test(node)
        ? []
        : [`${path}: ${node}`];
    });
    expect(asking).toEqual([]);
  });

  it('has every package that another one names, for any system: npm ci would refuse it otherwise', () => {
    const packages = recordIn(recordIn(JSON.parse(textOf('package-lock.json'))), 'packages');
    const present = new Set(Object.keys(packages).map((path) => path.replace(/^.*node_modules\//, '')));
    const missing = Object.keys(packages).flatMap((path) => {
      const { dependencies = {}, optionalDependencies = {} } = recordIn(packages, path);
      const named = Object.keys({ ...(dependencies as object), ...(optionalDependencies as object) });
      return named.filter((name) => !present.has(name)).map((name) => `${path} needs ${name}`);
    });
    expect(missing).toEqual([]);
  });
});

describe('dependencies', () => {
  const description = recordIn(JSON.parse(textOf('package.json')));
  const versions = { ...recordIn(description, 'dependencies'), ...recordIn(description, 'devDependencies') };

  it.each(Object.entries(versions))('%s has an exact version', (_, version) => {
    expect(version).toMatch(/^(npm:[a-z0-9@/-]+@)?\d+\.\d+\.\d+$/);
  });

  it.each(Object.keys(versions))('%s is named in engine/docs/dependencies.md with its reason', (name) => {
    const row = textOf('engine/docs/dependencies.md')
      .split('\n')
      .find((line) => line.startsWith(`| \`${name}\` `));
    expect(row).toMatch(/ \| .{15,} \|$/);
  });
});

describe('pages', () => {
  const pages = [
    'README.md',
    ...rooms.flatMap((room) => filesBelow(room)).filter((file) => file.endsWith('.md')),
  ];
  /** The name that GitHub gives to a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');

  it.each(pages)('%s links to files and headings that exist', (page) => {
    const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    const broken = links.filter(([, path = '', anchor]) => {
      const target = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(root, target))) return true;
      if (anchor === undefined) return false;
      return ![...textOf(target).matchAll(/^#+ (.*)$/gm)].some(
        ([, heading = '']) => anchorOf(heading) === anchor,
      );
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  it('the README has at most 150 lines', () => {
    expect(textOf('README.md').split('\n').length).toBeLessThanOrEqual(150);
  });
});

describe('the version', () => {
  it('is the same in the package and in the product', () => {
    expect(version).toBe(recordIn(JSON.parse(textOf('package.json')))['version']);
  });
});

describe('files', () => {
  it('have names in kebab case, and none is a catch-all such as utils', () => {
    const form = /^[a-z][a-z0-9]*(-[a-z0-9]+)*(\.(test|contract|fixture))?(\.d)?\.ts$/;
    const drawers = /^(index|utils?|types|helpers?|common|misc)\.ts$/;
    const strange = sources.filter((file) => !form.test(basename(file)) || drawers.test(basename(file)));
    expect(strange).toEqual([]);
  });

  it('begin with a comment on what they do', () => {
    // A scenario has a description instead, and a declaration file describes a package.
    const speaking = sources.filter((file) => !isTest(file) && !/^scenarios\/|\.d\.ts$/.test(file));
    const silent = speaking.filter((file) => !/^(#!.*\n)?\s*\/\*\*/.test(textOf(file)));
    expect(silent).toEqual([]);
  });

  it('have no open tasks, no disabled checks or tests, and no path of one machine', () => {
    const words = ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'eslint-' + 'disable', '@ts-' + 'nocheck'];
    const open = new RegExp(
      `\\b(${words.join('|')})\\b|\\b(it|test|describe)\\.(skip|only|todo|fails)\\b|["'\`](/work/|/home/|/root/)`,
    );
    // The contracts of the ports skip laws by name and with a reason, which `law.contract.ts` itself checks.
    const left = sources.filter((file) => file !== 'engine/io/law.contract.ts' && open.test(textOf(file)));
    expect(left).toEqual([]);
  });
});

describe('the port rules', () => {
  const eslint = new ESLint({
    cwd: root,
    // Snippets are not files of the project, so the linter has no type information for them.
    overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions: { project: null } } },
    ruleFilter: ({ ruleId }) => ruleId.startsWith('no-restricted-'),
  });

  async function messagesOf(snippet: string, file: string): Promise<string[]> {
    const [result] = await eslint.lintText(snippet, { filePath: join(root, file) });
    return result?.messages.map(({ message }) => message) ?? [];
  }

  const behindTheDoors = ['engine/replication/snippet.ts', 'engine/node/node.ts', 'sim/world/snippet.ts'];
  const outside = [
    'engine/real/snippet.ts',
    'engine/main.ts',
    'engine/cli/snippet.ts',
    'sim/runner/pool/snippet.ts',
  ];

  const globalBans = {
    'io.clock.nowUs()': ['Date', 'performance'],
    'io.clock.after(delayUs, fire)': ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'],
    'io.spawn(name, task)': ['setImmediate', 'clearImmediate', 'queueMicrotask', 'scheduler'],
    'io for the machine': ['process', 'navigator'],
    'io.log.event(level, name, fields)': ['console'],
    'io.network.connect(address, timeoutUs)': [
      ...['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'],
      ...['BroadcastChannel', 'MessageChannel'],
    ],
    'io.random': ['crypto', 'Crypto', 'CryptoKey', 'SubtleCrypto'],
    'a Map whose entries are removed by name': ['WeakRef', 'FinalizationRegistry', 'gc'],
    'code-unit comparison': ['Intl'],
    'a Channel of engine/base': ['SharedArrayBuffer', 'Atomics', 'Worker'],
    'a static import': ['require', 'module', '__dirname', '__filename'],
  };
  const globalRows = Object.entries(globalBans).flatMap(([replacement, names]) =>
    names.map((name) => ({ name, replacement })),
  );

  const propertyBans = {
    'io.random': ['Math.random'],
    'integer arithmetic or a table': [
      ...[
        'pow',
        'exp',
        'expm1',
        'log',
        'log1p',
        'log2',
        'log10',
        'cbrt',
        'hypot',
        'sin',
        'cos',
        'tan',
        'asin',
      ],
      ...['acos', 'atan', 'atan2', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh'],
    ].map((name) => `Math.${name}`),
    'code-unit comparison': ['text.localeCompare'],
    'toFixed()': ['text.toLocaleString', 'text.toLocaleDateString', 'text.toLocaleTimeString'],
    'toLowerCase()': ['text.toLocaleLowerCase', 'text.toLocaleUpperCase'],
    'new WebAssembly.Module': ['compile', 'instantiate', 'compileStreaming', 'instantiateStreaming'].map(
      (name) => `WebAssembly.${name}`,
    ),
    'io.clock.after': ['AbortSignal.timeout'],
    'a Deferred': ['Promise.withResolvers'],
    'a LockstepError': ['Error.captureStackTrace', 'Error.prepareStackTrace', 'Error.stackTraceLimit'],
  };
  const propertyRows = Object.entries(propertyBans).flatMap(([replacement, uses]) =>
    uses.map((use) => ({ use, replacement })),
  );

  const otherRows = [
    ['new Promise(() => {});', 'a Deferred of engine/base'],
    ['let count = 0; count += 1;', 'a private field'],
    ['export let count = 0; count += 1;', 'a private field'],
    ['const seen = new Map(); seen.clear();', 'a private field'],
    ['export const seen: Set<string> = new Set();', 'a private field'],
    ['export class Counter { static count = 0; }', 'a private field'],
    ['export const cube = (side: number) => side ** 3;', 'integer arithmetic'],
    ['export function f(o: object) { for (const name in o) return name; }', 'a Map or Object.entries'],
    ["export const later = () => import('./other.ts');", 'a static import'],
    ['export const trace = (error: Error) => error.stack;', 'error.message'],
    ["import { readFile } from 'node:fs'; readFile;", 'io.disk'],
    ["import { readFile } from 'fs/promises'; readFile;", 'io.disk'],
    ["import type { Stats } from 'node:fs'; export type S = Stats;", 'io.disk'],
    ["import { connect } from 'node:net'; connect;", 'io.network'],
    ["import { connect } from 'tls'; connect;", 'io.network'],
    ["import { createSocket } from 'node:dgram'; createSocket;", 'io.network'],
    ["import { get } from 'node:http'; get;", 'io.http'],
    ["import { setTimeout } from 'node:timers/promises'; setTimeout;", 'io.clock.after'],
    ["import { spawn } from 'node:child_process'; spawn;", 'io.spawn'],
    ["import { Worker } from 'node:worker_threads'; Worker;", 'one node is one thread'],
    ["import { cpus } from 'node:os'; cpus;", 'the entry point hands down'],
    ["import { env } from 'node:process'; env;", 'the entry point hands down'],
    ["import { createInterface } from 'node:readline'; createInterface;", 'the entry point hands down'],
    ["import { performance } from 'node:perf_hooks'; performance;", 'io.clock.nowUs()'],
    ["import { AsyncLocalStorage } from 'node:async_hooks'; AsyncLocalStorage;", 'an explicit argument'],
    ["import { EventEmitter } from 'node:events'; EventEmitter;", 'a Channel of engine/base'],
    ["import { randomBytes } from 'node:crypto'; randomBytes;", 'io.random'],
    ["import * as crypto from 'node:crypto'; crypto;", 'io.random'],
    ["import { deflate } from 'node:zlib'; deflate;", 'engine/base/checksum.ts'],
    ["import { crc32 } from 'node:zlib'; crc32;", 'engine/base/checksum.ts'],
    ["import { DatabaseSync } from 'node:sqlite'; DatabaseSync;", 'engine/real'],
    ["import seedrandom from 'seedrandom'; seedrandom;", 'sim/world/core/random.ts'],
    ["import alea from 'seedrandom/lib/alea.js'; alea;", 'sim/world/core/random.ts'],
    ["import fastify from 'fastify'; fastify;", 'io.http'],
    ["import pino from 'pino'; pino;", 'io.log'],
    ["import { Command } from 'commander'; Command;", 'engine/cli'],
    ["import { it } from 'vitest'; it;", 'tests only'],
    ['export const odd = 1 as unknown as string;', 'a type guard'],
  ] as const;

  it.each(globalRows)(
    'the global $name is banned, and its replacement named',
    async ({ name, replacement }) => {
      for (const file of behindTheDoors) {
        for (const use of [name, `globalThis.${name}`, `new ${name}()`]) {
          const [message] = await messagesOf(`export const used = ${use};`, file);
          expect({ use, message }).toEqual({ use, message: expect.stringContaining(`take`) as string });
          expect(message).toContain(`${name}:`);
          expect(message).toContain(replacement);
        }
      }
    },
  );

  it.each(propertyRows)('$use is banned, and its replacement named', async ({ use, replacement }) => {
    for (const file of behindTheDoors) {
      const messages = await messagesOf(`declare const text: string;\nexport const used = ${use};`, file);
      expect(messages.join()).toContain(
        `take ${replacement}`.replace('take toF', 'toF').replace('take a', 'a'),
      );
    }
  });

  it.each(otherRows)('%s: take %s', async (snippet, replacement) => {
    for (const file of behindTheDoors)
      expect((await messagesOf(snippet, file)).join()).toContain(replacement);
  });

  it('every ban has a snippet here', async () => {
    const config: unknown = await eslint.calculateConfigForFile(join(root, 'engine/replication/snippet.ts'));
    const rules = recordIn(recordIn(config), 'rules');
    const options = (name: string) => (rules[name] as unknown[]).slice(1);
    const [globals] = options('no-restricted-globals') as [{ globals: { name: string }[] }];
    expect(globals.globals.map(({ name }) => name)).toEqual(globalRows.map(({ name }) => name));
    const properties = options('no-restricted-properties') as { property: string }[];
    expect(properties.map(({ property }) => property)).toEqual(
      propertyRows.map(({ use }) => use.slice(use.indexOf('.') + 1)),
    );
  });

  it('code outside the ports may use the machine', async () => {
    const snippet = "import { readFile } from 'node:fs';\nreadFile;\nexport const nowMs = Date.now();";
    for (const file of outside) expect(await messagesOf(snippet, file)).toEqual([]);
  });

  it('each exception allows only what its reason needs', async () => {
    expect(await messagesOf('new Promise(() => {});', 'engine/base/snippet.ts')).toEqual([]);
    expect(await messagesOf("import { crc32 } from 'node:zlib'; crc32;", 'engine/base/checksum.ts')).toEqual(
      [],
    );
    expect(
      await messagesOf("import { inflate } from 'node:zlib'; inflate;", 'engine/base/checksum.ts'),
    ).toHaveLength(1);
    expect(
      await messagesOf("import { createHash } from 'node:crypto'; createHash;", 'engine/metrics/x.ts'),
    ).toEqual([]);
    expect(await messagesOf("import alea from 'seedrandom'; alea;", 'sim/world/core/random.ts')).toEqual([]);
    expect(await messagesOf('export const nowMs = Date.now();', 'sim/world/core/random.ts')).toHaveLength(1);
  });

  it.each([
    "seedrandom('x', { global: true });",
    "seedrandom('x', { entropy: true });",
    "seedrandom.alea('x', { state: true, entropy: true });",
    "alea('x', { global: true });",
    'seedrandom();',
    'seedrandom.alea();',
  ])('seedrandom as %s is banned everywhere', async (call) => {
    const snippet = `declare const seedrandom: any, alea: any;\n${call}`;
    for (const file of [
      'sim/world/core/random.ts',
      'sim/world/core/random.test.ts',
      'engine/real/random.ts',
    ]) {
      expect(await messagesOf(snippet, file)).toEqual([expect.stringContaining('take a')]);
    }
  });
});

function filesBelow(directory: string): string[] {
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** A member of parsed JSON, or the value itself, that must be an object. */
function recordIn(value: unknown, name?: string): Readonly<Record<string, unknown>> {
  const found = name === undefined ? value : (value as Readonly<Record<string, unknown>>)[name];
  if (typeof found !== 'object' || found === null) throw new Error(`${name ?? 'the value'} is not an object`);
  return found as Readonly<Record<string, unknown>>;
}

describe('the words', () => {
  it('that were given up for standard terms are refused in comments and in exported names, with the term', async () => {
    const eslint = new ESLint({
      cwd: root,
      overrideConfig: { files: ['**/*.ts'], languageOptions: { parserOptions: { project: null } } },
      ruleFilter: ({ ruleId }) => ruleId === 'lockstep/retired-words',
    });
    const snippet =
      '/** Whoever asks. */\nexport const heirOf = 1;\n/** `kin` is code. */\nexport const roomy = heirOf;\n';
    const [result] = await eslint.lintText(snippet, { filePath: join(root, 'engine/base/snippet.ts') });
    expect(result?.messages.map(({ line, message }) => [line, message])).toEqual([
      [1, '"Whoever" is a retired word; write the actor: the coordinator, a replica, the client, the caller'],
      [2, '"heirOf" has a retired word; say replacement, or new owner'],
    ]);
  });
});
