/** `lockstep start`: runs one node. */
import type { Command } from 'commander';

import type { ExitCode } from '../exit-codes.ts';

interface StartOptions {
  readonly config: string;
}

/** Adds the command `start`. `finish` gets the exit code. */
export function addStartCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('start')
    .requiredOption('-c, --config <file>', 'the node’s configuration file')
    .description('start one node; SIGTERM or SIGINT stops it in order, a second one at once')
    .action(async ({ config }: StartOptions) => {
      // The node's modules take a third of a second to load; the other commands do not need them.
      const { start } = await import('./start.ts');
      finish(await start(config));
    });
}
