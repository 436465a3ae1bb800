/**
 * A step of the build: starts a node of the bundle in an empty directory, loads what the other commands need, and stores
 * what V8 has compiled meanwhile beside the bundle (`engine/real/bundled-code.ts`). The code is of use to the version of
 * Node.js that built, and to its flags; another one compiles the bundle at every start. So the build runs this step twice,
 * the second time with the flag that `lockstep cluster` and the files of `engine/deploy` start nodes with.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers';

import { BundledCode } from '../dist/engine/real/bundled-code.js';

const listeners = ['listen', 'pb_listen', 'redis_listen', 'peer_listen', 'stats_listen'];

const code = new BundledCode(join(import.meta.dirname, '../dist/engine/bundle'));
const { runLockstep } = code.load('program.cjs');
const directory = mkdtempSync(join(tmpdir(), 'lockstep-build-'));
try {
  const lines = [
    'name: n1',
    'data_dir: data',
    'log_level: error',
    ...listeners.map((key) => `${key}: 127.0.0.1:0`),
  ];
  const config = join(directory, 'lockstep.yaml');
  writeFileSync(config, ['lockstep:', ...lines.map((line) => `  ${line}`), ''].join('\n'));
  process.stdout.write = () => true;
  await runLockstep(['node', 'lockstep', '--help']);
  // The node prints where it serves; a moment later its first round of background work has run.
  console.log = () => setTimeout(() => process.kill(process.pid, 'SIGTERM'), 300);
  const ended = await runLockstep(['node', 'lockstep', 'start', '--config', config]);
  if (ended !== 0) throw new Error(`the node of the build ended with ${ended}`);
  code.save();
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
