#!/usr/bin/env node
/** `lockstep-sim`, the command line of the simulator. */
import { CommanderError } from 'commander';

import { LockstepError } from '../engine/base/errors.ts';
import { exitCodes, makeProgram } from './cli/program.ts';

const program = makeProgram(
  (text) => process.stdout.write(`${text}\n`),
  (code) => {
    process.exitCode = code;
  },
);

// Whoever reads stdout may have seen enough: `… replay --trace | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

for (const command of [program, ...program.commands]) command.exitOverride();
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** What the caller did wrong is usage; anything else is a bug of the simulator and keeps its stack. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.passed : exitCodes.usage;
  if (error instanceof LockstepError) {
    process.stderr.write(`lockstep-sim: ${error.message} (${error.code})\n`);
    return exitCodes.usage;
  }
  throw error;
}
