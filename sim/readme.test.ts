/** Tests the TypeScript examples of the documentation in a project of their own. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { present } from '../engine/base/assert.ts';

const root = join(import.meta.dirname, '..');
/** Packages that the project has installed besides lockstep itself. */
const installed = ['vitest', 'fast-check', '@types/node'];

let project = '';

beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'lockstep-readme-'));
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
  symlinkSync(root, join(project, 'node_modules/lockstep'));
  for (const name of installed) {
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  }
  write('package.json', JSON.stringify({ type: 'module' }));
});
afterAll(() => rmSync(project, { recursive: true }));

function write(file: string, text: string): void {
  writeFileSync(join(project, file), text);
}

function codeOf(page: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  return present(/```ts\n([^]*?)```/.exec(text)?.[1], `TypeScript in ${page}`);
}

/** Runs a program in the project; returns its output, with the exit status if it failed. */
function run(program: string, ...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    cwd: project,
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], NO_COLOR: '1' },
  });
  return status === 0 ? stdout : `${stdout}${stderr}\nexit code ${status}`;
}

/** Errors of the compiler. */
function compile(file: string): string {
  const options = ['--strict', '--skipLibCheck', '--target', 'es2023', '--module', 'nodenext'];
  return run(join(root, 'node_modules/typescript7/bin/tsc'), ...options, '--types', 'node', file);
}

it('embeds a node', () => {
  // Free ports, because a cluster may be running on the default ones.
  const elsewhere = ['listen', 'pbListen', 'peerListen', 'statsListen'].map((key) => `${key}: '127.0.0.1:0'`);
  const given = "{ name: 'n1' as NodeId }";
  const code = codeOf('engine/docs/embedding.md');
  expect(code).toContain(given);
  write('embedded.ts', code.replace(given, given.replace(' }', `, ${elsewhere.join(', ')} }`)));
  expect(compile('embedded.ts')).toBe('');
  expect(run('embedded.js')).toBe("[ 'red and round' ]\n");
});

it('tests by property', () => {
  const code = codeOf('sim/docs/property-tests.md');
  const fewer = code.replace('seeds: 20 ', 'seeds: 2 ').replace('numRuns: 10,', 'numRuns: 2,');
  expect(fewer.length).toBe(code.length - 2);
  write('nodes.test.ts', fewer);
  expect(compile('nodes.test.ts')).toBe('');
  expect(run(join(root, 'node_modules/vitest/vitest.mjs'), 'run', 'nodes.test.ts')).toMatch(
    /Tests +2 passed/,
  );
});
