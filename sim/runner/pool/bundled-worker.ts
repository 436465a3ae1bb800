/** A worker thread that runs `worker.ts` from the bundle, with the code that the build compiled (`.ci/bundle.js`). */
import { join } from 'node:path';

import { BundledCode } from '../../../engine/real/bundled-code.ts';

new BundledCode(join(import.meta.dirname, '../bundle')).load('worker.cjs');
