/** Reads the console's files, which the build puts beside the engine (`.ci/browser.js`). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files, or undefined if the engine runs without them, as its sources do. */
export function readConsolePage(
  directory = join(import.meta.dirname, '../console'),
): { readonly script: string; readonly style: string } | undefined {
  try {
    return {
      script: readFileSync(join(directory, 'console.bundle.js'), 'utf8'),
      style: readFileSync(join(directory, 'console.css'), 'utf8'),
    };
  } catch {
    // Without its files the console answers that it has none; the node serves everything else.
    return undefined;
  }
}
