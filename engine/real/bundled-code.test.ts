/** Tests how the bundle is loaded, with and without code that was compiled before. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bundled-'));
  writeFileSync(
    join(directory, 'program.cjs'),
    "const one = require('./part.cjs'), { join } = require('node:path'); exports.run = () => join(one.name, __filename.slice(-11));",
  );
  writeFileSync(join(directory, 'part.cjs'), "require('./program.cjs'); exports.name = 'part';");
});

afterEach(() => rmSync(directory, { recursive: true }));

const module = pathToFileURL(join(import.meta.dirname, '../../dist/engine/real/bundled-code.js')).href;

/**
 * Loads files in a process of its own, since V8 remembers within a process what it has compiled: how many were compiled
 * anew, and what the script prints with `code` and `exports` of the last file at hand.
 */
function loaded(bundle: string, files: readonly string[], script = ''): string {
  const text = `import { BundledCode } from ${JSON.stringify(module)};
    const code = new BundledCode(${JSON.stringify(bundle)});
    const exports = ${JSON.stringify(files)}.map((file) => code.load(file)).at(-1);
    ${script}
    console.log(code.compiledNow);`;
  const flags = ['--input-type=module', '-e', text];
  return execFileSync(process.execPath, flags, { encoding: 'utf8' }).trim().replaceAll('\n', ' ');
}

const run = 'console.log(exports.run());';

test('files are compiled at each start until the build has stored what was compiled', () => {
  expect(loaded(directory, ['program.cjs'], `${run} code.save();`)).toBe('part/program.cjs 2');
  expect(loaded(directory, ['program.cjs'], run)).toBe('part/program.cjs 0');
});

test('a file imports packages and modules, also when its compiled code was stored', () => {
  const part = pathToFileURL(join(directory, 'own.mjs')).href;
  writeFileSync(join(directory, 'own.mjs'), 'export const own = 7;');
  const text = `exports.run = async () => [typeof (await importModule('http')).get, typeof (await importModule('typescript')).default.version, (await importModule(${JSON.stringify(part)})).own];`;
  writeFileSync(join(directory, 'program.cjs'), text);
  // Packages are looked for from the bundle on.
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(directory, 'node_modules'));
  const script = 'console.log(String(await exports.run()));';
  expect(loaded(directory, ['program.cjs'], `${script} code.save();`)).toBe('function,string,7 1');
  expect(loaded(directory, ['program.cjs'], script)).toBe('function,string,7 0');
});

test('stored code that is damaged, or of another text, is refused, and the file is compiled', () => {
  loaded(directory, ['program.cjs'], 'code.save();');
  const stored = readdirSync(directory).find((name) => name.startsWith('compiled-')) ?? '';
  writeFileSync(join(directory, stored, 'part.cjs'), 'no code');
  expect(loaded(directory, ['program.cjs'], run)).toBe('part/program.cjs 1');
  writeFileSync(join(directory, 'program.cjs'), "exports.run = () => 'another';");
  expect(loaded(directory, ['program.cjs'], run)).toBe('another 1');
});

test('the build has stored the code of all that a node loads', () => {
  const bundle = join(import.meta.dirname, '../../dist/engine/bundle');
  expect(loaded(bundle, ['program.cjs', 'start.cjs'])).toBe('0');
});
