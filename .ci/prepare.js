/**
 * What `npm ci` runs, and `npx lockstep` in a checkout once: builds, unless this very tree was built since the last
 * `npm ci`. A build writes all of dist/ again, which takes its time, and which nodes may be starting from just then.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// npm ci empties node_modules, and so always builds.
const stamp = 'node_modules/.cache/lockstep-built';
const rooms = ['engine', 'sim', 'scenarios', 'reports'];
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
