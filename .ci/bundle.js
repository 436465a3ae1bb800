/**
 * A step of the build: bundles all modules of the simulator's worker thread into one file beside them, and those of its
 * commands into another. A worker then starts in two thirds of the time, a command in half of it, and runs are a few
 * percent faster, because an access to an import of another module takes an extra look-up and one within a file does
 * not. Packages are not bundled. The files are optional: if one is missing or older than a module, the modules are run
 * (`sim/runner/pool/build.ts`).
 */
import { isAbsolute } from 'node:path';

import { rolldown } from 'rolldown';

const room = 'dist/sim/runner/pool';
const isPackage = (id) => !id.startsWith('.') && !isAbsolute(id);

for (const [input, file] of [
  [`${room}/worker.js`, 'worker.bundle.js'],
  ['dist/sim/cli/commands.js', 'commands.bundle.js'],
]) {
  const bundle = await rolldown({ input, platform: 'node', external: isPackage });
  await bundle.write({ file: `${room}/${file}`, format: 'esm', codeSplitting: false, comments: false });
  await bundle.close();
}
