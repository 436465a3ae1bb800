#!/usr/bin/env node
/** `lockstep-sim`, the command line of the simulator. Its commands come from one bundle if the build has one. */
import type * as Commands from './cli/commands.ts';
import { buildDirectory, loadCommands } from './runner/pool/build.ts';

const hasOwn = process.argv.some((word) => /^--scenarios(?:=|$)/.test(word));
const { complaintAbout, makeProgram, withPresentOptions } = (await loadCommands(
  buildDirectory,
  hasOwn,
)) as typeof Commands;

/** Time for output to reach a slow reader, and for threads to end. */
const lingerMs = 10_000;

const program = makeProgram(
  (text) => process.stdout.write(`${text}\n`),
  (code) => {
    process.exitCode = code;
  },
);

// The reader of stdout may close it early: `… replay --trace | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.once('uncaughtException', (error) => {
  process.exit(complain(error));
});

for (const command of [program, ...program.commands]) command.exitOverride();
try {
  await program.parseAsync(withPresentOptions(process.argv));
} catch (error) {
  process.exitCode = complain(error);
}
// The work is done, and its output is written. What a command may have left open must not keep the process.
setTimeout(() => process.exit(), lingerMs).unref();

function complain(error: unknown): number {
  const { code, text } = complaintAbout(error, process.argv.slice(2));
  process.stderr.write(text);
  return code;
}
