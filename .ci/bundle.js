/**
 * A step of a build: all modules of the simulator's worker thread in one file beside them. A thread starts in two thirds
 * of the time, and its runs are a few percent faster: what modules import from each other is looked up in a cell at
 * each use, what is in one file is not. Packages stay packages. Nobody needs the file: where it is missing or older than a
 * module, the modules run (sim/runner/pool/worker-file.ts).
 */
import { isAbsolute } from 'node:path';

import { rolldown } from 'rolldown';

const room = 'dist/sim/runner/pool';
const isPackage = (id) => !id.startsWith('.') && !isAbsolute(id);

const bundle = await rolldown({ input: `${room}/worker.js`, platform: 'node', external: isPackage });
await bundle.write({
  file: `${room}/worker.bundle.js`,
  format: 'esm',
  codeSplitting: false,
  comments: false,
});
await bundle.close();
