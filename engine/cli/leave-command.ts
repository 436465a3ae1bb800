/** `lockstep leave`: asks a running node to hand over what it owns and to leave its cluster. */
import type { Command } from 'commander';

import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import { invocation } from './invocation.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';

interface LeaveOptions extends NamedNodeOptions {
  readonly force?: boolean;
}

export function addLeaveCommand(program: Command, finish: (code: ExitCode) => void): void {
  withNamedNode(program.command('leave'))
    .option('--force', 'leave although the rack, and its copy of all keys, goes with the node')
    .description('take a node out of its cluster: it hands over what it owns, then stops')
    .action(async (options: LeaveOptions) => finish(await leave(options)));
}

async function leave({ force, ...named }: LeaveOptions): Promise<ExitCode> {
  const client = clientOf(named);
  const query = force === true ? '?force=true' : '';
  await client.obtain(202, 'POST', `/cluster/leave${query}`);
  console.log(
    `${client.origin} hands over what it owns and then leaves; ${invocation()} status --node ${client.origin} shows how far it is`,
  );
  return exitCodes.done;
}
