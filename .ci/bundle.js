/**
 * A step of the build: bundles all modules of the simulator's worker thread into one file beside them, and those of its
 * commands into another. A worker then starts in two thirds of the time, a command in half of it, and runs are a few
 * percent faster, because an access to an import of another module takes an extra look-up and one within a file does
 * not. Packages are not bundled. The files are optional: if one is missing or older than a module, the modules are run
 * (`sim/runner/pool/build.ts`).
 *
 * The `lockstep` command is bundled with its packages (`dist/engine/bundle`): of 1,150 files that a node read at its
 * start, half were those of packages. What is imported on demand is a file of its own. Names are kept, since the log
 * shows them in the stacks of errors. Characters beyond ASCII are written as escapes, so that the runtime holds a file in
 * one byte a character. The files are CommonJS, since V8 takes compiled code of those only (`engine/real/bundled-code.ts`);
 * `.ci/compiled-code.js` stores it.
 *
 * With an argument, bundles the commands of that build alone (a copy with a mutant).
 */
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

import { rolldown } from 'rolldown';

const copy = process.argv[2];
const build = copy ?? 'dist';
const room = `${build}/sim/runner/pool`;
const isPackage = (id) => !id.startsWith('.') && !isAbsolute(id);

for (const [input, file] of [
  ...(copy === undefined ? [[`${room}/worker.js`, 'worker.bundle.js']] : []),
  [`${build}/sim/cli/commands.js`, 'commands.bundle.js'],
]) {
  const bundle = await rolldown({ input, platform: 'node', external: isPackage });
  const made = `${room}/${file}.new`;
  await bundle.write({ file: made, format: 'esm', codeSplitting: false, comments: false });
  await bundle.close();
  // Another command may run what is there.
  renameSync(made, `${room}/${file}`);
}
if (copy !== undefined) process.exit();

const target = 'dist/engine/bundle';
rmSync(target, { recursive: true, force: true });
// fastify's compilers of schemas are never loaded: no route has a schema (`engine/real/http.ts`).
const external = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'];
const bundle = await rolldown({ input: 'dist/engine/cli/program.js', platform: 'node', external });
const { output } = await bundle.write({
  dir: target,
  format: 'cjs',
  comments: false,
  minify: { compress: true, mangle: false, codegen: true },
  keepNames: true,
  entryFileNames: '[name].cjs',
  chunkFileNames: '[name].cjs',
});
await bundle.close();

const packages = new Set();
for (const { fileName, code, moduleIds } of output) {
  const escaped = code.replace(
    /[\u0080-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  writeFileSync(join(target, fileName), escaped);
  for (const id of moduleIds) {
    const [, directory] = /^(.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+)[/\\]/.exec(id) ?? [];
    if (directory !== undefined) packages.add(directory);
  }
}
writeFileSync(join(target, 'LICENSES.txt'), [...packages].toSorted().map(licenseOf).join('\n'));

/** The licence of a package, which asks that its text goes with every copy. */
function licenseOf(directory) {
  const { name, version, license } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const files = readdirSync(directory).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const texts = files.map((file) => readFileSync(join(directory, file), 'utf8').trim());
  return [`${name} ${version} (${license})`, ...texts, ''].join('\n\n');
}
