#!/usr/bin/env node
/** The `lockstep` command. */
import { runLockstep } from './cli/program.ts';

// The outputs are flushed and the doors closed by now; what still hangs about must not keep the process.
process.exit(await runLockstep(process.argv));
