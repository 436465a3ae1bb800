/**
 * A step of the build: starts what `.ci/bundle.js` has bundled, and stores what V8 has compiled meanwhile beside the
 * bundles (`engine/real/bundled-code.ts`): a node in an empty directory with what the other commands need, the help of
 * `lockstep-sim`, and a thread of the simulator with one seed. The code is of use to the version of Node.js that built,
 * and to its flags; another one compiles the bundles at every start. So the build runs this step twice, the second time
 * with the flag that `lockstep cluster` and the files of `engine/deploy` start nodes with.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, MessageChannel, Worker, workerData } from 'node:worker_threads';

import { BundledCode } from '../dist/engine/real/bundled-code.js';
import { compilerFlags } from '../dist/sim/runner/pool/compiler-flags.js';

const simulator = join(import.meta.dirname, '../dist/sim/runner/bundle');

if (isMainThread) {
  await startNode();
  if (process.execArgv.length === 0) {
    await showHelp();
    await runSeed();
  }
  process.exit(0);
} else {
  const code = new BundledCode(simulator);
  code.load('worker.cjs');
  workerData.saved.once('message', () => {
    code.save();
    workerData.saved.postMessage('saved');
  });
}

async function startNode() {
  const code = new BundledCode(join(import.meta.dirname, '../dist/engine/bundle'));
  const { runLockstep } = code.load('program.cjs');
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-build-'));
  const { write } = process.stdout;
  const { log } = console;
  const listeners = ['listen', 'pb_listen', 'redis_listen', 'peer_listen', 'stats_listen'];
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
    process.stdout.write = write;
    console.log = log;
    rmSync(directory, { recursive: true, force: true });
  }
}

async function showHelp() {
  const code = new BundledCode(simulator);
  const { makeProgram } = code.load('commands.cjs');
  const program = makeProgram(
    () => undefined,
    () => undefined,
  );
  program.exitOverride().configureOutput({ writeOut: () => undefined });
  await program.parseAsync(['node', 'lockstep-sim', '--help']).catch((error) => {
    if (error.code !== 'commander.helpDisplayed' && error.code !== 'commander.help') throw error;
  });
  code.save();
}

/** A thread has the flags that its pool sets. */
async function runSeed() {
  for (const flag of compilerFlags) setFlagsFromString(flag);
  const { port1: saved, port2 } = new MessageChannel();
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { saved: port2 },
    transferList: [port2],
  });
  worker.postMessage({ kind: 'seed', scenario: 'crash-and-restart', seed: 1, twice: 'eighth' });
  const [{ ok, failure }] = await once(worker, 'message');
  if (!ok) throw new Error(`the seed of the build failed: ${failure.message}`);
  saved.postMessage('save');
  await once(saved, 'message');
  await worker.terminate();
}
