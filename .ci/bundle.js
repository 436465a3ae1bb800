/**
 * A step of the build: bundles the modules and packages of a program into files that start fast: of 1,150 files that a
 * node read at its start, half were those of packages. The `lockstep` command is in `dist/engine/bundle`, the commands of
 * `lockstep-sim` and its worker thread are in `dist/sim/runner/bundle`. Runs of the simulator are a few percent faster,
 * too, because an access to an import of another module takes an extra look-up and one within a file does not. The files
 * are optional: if one is missing or older than a module, the modules are run (`sim/runner/pool/build.ts`).
 *
 * Names are kept, since the log shows them in the stacks of errors. Characters beyond ASCII are written as escapes, so
 * that the runtime holds a file in one byte a character. The files are CommonJS, since V8 takes compiled code of those
 * only (`engine/real/bundled-code.ts`); `.ci/compiled-code.js` stores it.
 *
 * With an argument, bundles the commands of that build alone (a copy with a mutant).
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { rolldown } from 'rolldown';

const copy = process.argv[2];
const build = copy ?? 'dist';
// fastify's compilers of schemas are never loaded: no route has a schema (`engine/real/http.ts`). TypeScript only compiles
// the patches of `--patch`.
const external = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'typescript'];

const simulator = `${build}/sim/runner/bundle`;
// What is imported on demand is a file of its own, except in a thread, which needs all.
const commands = { input: `${build}/sim/cli/commands.js`, codeSplitting: true, minify: false };
const worker = { input: `${build}/sim/runner/pool/worker.js`, codeSplitting: false, minify: false };
if (copy === undefined) {
  await bundle('dist/engine/bundle', {
    input: 'dist/engine/cli/program.js',
    codeSplitting: true,
    minify: { compress: true, mangle: false, codegen: true },
  });
  await bundle(simulator, commands, worker);
} else await bundle(simulator, commands);

/** Bundles programs with their packages into a directory, and writes the licences of the packages beside them. */
async function bundle(target, ...programs) {
  const made = `${target}.new`;
  rmSync(made, { recursive: true, force: true });
  const packages = new Set();
  for (const program of programs)
    for (const { fileName, code, moduleIds } of await bundled(program)) {
      mkdirSync(made, { recursive: true });
      writeFileSync(join(made, fileName), escaped(withGivenImport(code)));
      for (const directory of moduleIds.map(packageOf)) if (directory !== undefined) packages.add(directory);
    }
  writeFileSync(join(made, 'LICENSES.txt'), [...packages].toSorted().map(licenseOf).join('\n'));
  // A command that starts meanwhile finds the old files, none (and runs the modules), or the new ones.
  rmSync(target, { recursive: true, force: true });
  renameSync(made, target);
}

async function bundled({ input, codeSplitting, minify }) {
  const build = await rolldown({ input, platform: 'node', external });
  const { output } = await build.generate({
    ...{ format: 'cjs', comments: false, keepNames: true, minify, codeSplitting },
    ...{ entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
  });
  await build.close();
  return output;
}

/**
 * `import()` becomes a call of the function that the loader gives (`engine/real/bundled-code.ts`). What has a body is a
 * method of that name.
 */
function withGivenImport(code) {
  return code.replace(/(?<![.\w$])import\((?![^()]*\)\s*\{)/g, 'importModule(');
}

function escaped(code) {
  return code.replace(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The directory of the package that a module belongs to; undefined for one of ours. */
function packageOf(module) {
  return /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(module)?.[1];
}

/** The licence of a package, which asks that its text goes with every copy. */
function licenseOf(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const files = readdirSync(directory).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(directory, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts, ''].join('\n\n');
}
