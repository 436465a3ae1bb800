/**
 * The last step of the build: makes the commands of the package executable. npm does so when it installs the package,
 * and npx once for a checkout. Neither does so again for the files that a later build writes.
 */
import { chmodSync, readFileSync } from 'node:fs';

const { bin } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of Object.values(bin)) chmodSync(file, 0o755);
