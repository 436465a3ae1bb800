/**
 * The script `prepare`, which `npm ci` runs, and `npx lockstep` once in a checkout. Builds, unless this tree was built
 * since the last `npm ci`. A build takes time, and rewrites all of dist/ while nodes may be starting from it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// `npm ci` empties node_modules, so it always builds.
const stamp = 'node_modules/.cache/lockstep-built';
const rooms = ['engine', 'sim', 'scenarios', 'reports', '.ci'];
const files = rooms.flatMap((room) => readdirSync(room, { recursive: true }).map((name) => join(room, name)));

const changedMs = [...rooms, ...files, 'package.json', 'tsconfig.json'].map((name) => statSync(name).mtimeMs);
const isBuilt = existsSync(stamp) && ['engine', 'sim'].every((room) => existsSync(`dist/${room}/main.js`));

if (!isBuilt || Math.max(...changedMs) > statSync(stamp).mtimeMs) {
  const began = new Date();
  const { status } = spawnSync('npm', ['run', 'build'], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, '');
  utimesSync(stamp, began, began);
}
