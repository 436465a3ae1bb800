/**
 * Uses the package as another project would: the examples of `engine/docs/embedding.md` compile as printed under the
 * strictest options, with libraries checked too, and do what the page says. `npm test` builds first.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'engine/docs/embedding.md'), 'utf8');
const examples = [...page.matchAll(/```ts\n([^]*?)```/g)].map(([, code]) => code ?? '');
const project = mkdtempSync(join(tmpdir(), 'lockstep-embedding-'));

const options = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitReturns: true,
  noUnusedLocals: true,
  verbatimModuleSyntax: true,
  skipLibCheck: false,
  module: 'nodenext',
  target: 'es2023',
};

beforeAll(() => {
  const own = join(project, 'node_modules/lockstep');
  mkdirSync(own, { recursive: true });
  cpSync(join(root, 'package.json'), join(own, 'package.json'));
  for (const room of ['engine', 'sim', 'scenarios', 'reports']) {
    cpSync(join(root, 'dist', room), join(own, 'dist', room), { recursive: true });
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
  };
  // The packages that npm installs with this one: its dependencies, its peer dependency, and that one's dependencies.
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
    const place = join(project, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), place);
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'other', type: 'module' }));
  const files = examples.map((_, index) => `example-${index}.ts`);
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  for (const [index, code] of examples.entries()) writeFileSync(join(project, `example-${index}.ts`), code);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

/** The output of an example. Its node listens only for peers, at a free port. */
function run(index: number): string {
  const path = join(project, `example-${index}.js`);
  const quiet =
    "name: 'n1', listen: undefined, pbListen: undefined, statsListen: undefined, peerListen: '127.0.0.1:0'";
  writeFileSync(path, readFileSync(path, 'utf8').replace("name: 'n1'", quiet));
  const { stdout, stderr, status } = spawnSync('node', [path], {
    cwd: project,
    encoding: 'utf8',
  });
  expect(`${status ?? 'none'} ${stderr}`).toBe('0 ');
  return stdout;
}

test('every example compiles as printed in a strict project of its own', () => {
  expect(examples.length).toBe(3);
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout, status } = spawnSync('node', [compiler, '-p', project], { encoding: 'utf8' });
  expect([stdout, status]).toEqual(['', 0]);
});

test('the first example reads what it wrote', () => {
  expect(run(0)).toBe("[ 'red and round' ]\n");
});

test('an embedder’s FailureMetrics has every failure family', () => {
  const printed = run(1);
  for (const level of ['DC_ONE', 'DC_QUORUM', 'DC_SAFE_QUORUM', 'DC_EACH_SAFE_QUORUM']) {
    const labels = `{ dc: 'dc1', rack: 'r1', consistency_level: '${level}' }`;
    expect(printed.replaceAll(/\s+/g, ' ')).toContain(`dispatch_no_targets_total ${labels} 0`);
  }
});

test('an embedder’s scheduler repairs the key that differs, and counts the repair', () => {
  const printed = run(2);
  const peer = "{ peer_idx: 1, dc: 'dc1', rack: 'r2' }";
  for (const name of [
    'exchange_attempts',
    'exchange_success',
    'exchange_divergent_keys',
    'repair_dispatched',
  ]) {
    expect(printed).toContain(`aae_${name}_total ${peer} 1`);
  }
});
