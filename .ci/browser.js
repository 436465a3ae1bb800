/**
 * A step of the build: bundles the script of the pages (`dist/reports/page/page.bundle.js`, with its style sheet beside
 * it), the console's (`dist/engine/console`), and the simulator for a browser's worker (`dist/sim/browser/worker.bundle.js`), which pages carry. In the latter
 * the modules of Node.js are replaced by those of `sim/browser/node`. With an argument, bundles the simulator of that
 * build (a copy with a mutant).
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { rolldown } from 'rolldown';

const room = resolve(process.argv[2] ?? 'dist', 'sim/browser');
const own = ['crypto', 'zlib', 'buffer', 'assert'];

const nodeModules = {
  name: 'node-modules',
  resolveId(id) {
    const name = id.replace(/^node:/, '');
    if (!builtinModules.includes(name)) return undefined;
    return `${room}/node/${own.includes(name) ? name : 'others'}.js`;
  },
};

/** Bundles an entry and all that it imports into one classic script. */
async function bundle(input, file, plugins) {
  const made = await rolldown({
    input,
    platform: 'browser',
    resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'node', 'default'] },
    plugins,
  });
  await made.write({
    file: `${file}.new`,
    format: 'iife',
    codeSplitting: false,
    comments: false,
    minify: true,
  });
  await made.close();
  // Another command may read what is there.
  renameSync(`${file}.new`, file);
}

await bundle(`${room}/worker.js`, `${room}/worker.bundle.js`, [nodeModules]);
if (process.argv[2] === undefined) {
  await bundle('reports/page/main.ts', 'dist/reports/page/page.bundle.js', []);
  await bundle('engine/console/main.ts', 'dist/engine/console/console.bundle.js', []);
  // Both pages share their base, and the colours of the reports' theme; the engine imports nothing of the reports.
  const { themeCss } = await import(pathToFileURL(resolve('dist/reports/theme.js')).href);
  const base = readFileSync('engine/console/base.css', 'utf8');
  const styleOf = (file) => `${base}${readFileSync(file, 'utf8')}`;
  writeFileSync('dist/reports/page/page.css', styleOf('reports/page/page.css'));
  writeFileSync('dist/engine/console/console.css', `${themeCss()}${styleOf('engine/console/console.css')}`);
}
