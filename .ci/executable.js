/**
 * The last step of a build: the commands of the package can be run. npm sees to that when it installs the package, and
 * npx once for a checkout; neither does it again for files that a later build made anew.
 */
import { chmodSync, readFileSync } from 'node:fs';

const { bin } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of Object.values(bin)) chmodSync(file, 0o755);
