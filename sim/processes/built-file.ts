/** Where the built program is: processes run it, whether the code that starts them is a module, a bundle or a source. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = 'engine/main.js';

/** The path of a module of the build: `engine/main.js`. Throws if nothing is built. */
export function builtFile(path: string): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    for (const root of [directory, join(directory, 'dist')])
      if (existsSync(join(root, program))) return join(root, path);
    const parent = dirname(directory);
    if (parent === directory) throw new Error('there is no built program; run `npm run build`');
    directory = parent;
  }
}
