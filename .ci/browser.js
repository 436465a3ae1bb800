/**
 * A step of the build: bundles the simulator for a browser's worker into one classic script
 * (`dist/sim/browser/worker.bundle.js`), which pages carry. The modules of Node.js are replaced by those of
 * `sim/browser/node`. With an argument, bundles that build instead of `dist` (a copy with a mutant).
 */
import { builtinModules } from 'node:module';
import { resolve } from 'node:path';

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

const bundle = await rolldown({
  input: `${room}/worker.js`,
  platform: 'browser',
  resolve: { mainFields: ['module', 'main'], conditionNames: ['import', 'node', 'default'] },
  plugins: [nodeModules],
});
await bundle.write({
  file: `${room}/worker.bundle.js`,
  format: 'iife',
  codeSplitting: false,
  comments: false,
  minify: true,
});
await bundle.close();
