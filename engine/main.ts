#!/usr/bin/env node
/** The entry point of the `lockstep` command. */
import { runLockstep } from './cli/program.ts';

// All outputs are flushed and the ports are closed by now. Remaining handles must not keep the process alive.
process.exit(await runLockstep(process.argv));
