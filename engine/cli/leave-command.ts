/** `lockstep leave`: asks a running node to hand over what it owns and to leave its cluster. */
import type { Command } from 'commander';

import type { ExitCode } from './exit-codes.ts';
import { exitCodes, UsageError } from './exit-codes.ts';
import { readConfigFile } from './config-file.ts';
import type { AskingOptions } from './node-client.ts';
import { NodeClient, problemOf, withAskingOptions } from './node-client.ts';

interface LeaveOptions extends AskingOptions {
  readonly node?: string;
  readonly config?: string;
  readonly force?: boolean;
}

export function addLeaveCommand(program: Command, finish: (code: ExitCode) => void): void {
  withAskingOptions(program.command('leave'))
    .option('--node <address>', 'the node’s HTTP listener, as host:port or https://host:port')
    .option('-c, --config <file>', 'its configuration file, which names that listener')
    .option('--force', 'leave although the rack, and its copy of all keys, goes with the node')
    .description('take a node out of its cluster: it hands over what it owns, then stops')
    .action(async (options: LeaveOptions) => finish(await leave(options)));
}

async function leave(options: LeaveOptions): Promise<ExitCode> {
  const client = clientOf(options);
  const query = options.force === true ? '?force=true' : '';
  const { status, text } = await client.ask('POST', `/cluster/leave${query}`);
  if (status !== 202) throw new Error(`${client.origin} refused: ${problemOf(status, text)}`);
  console.log(
    `${client.origin} hands over what it owns and then leaves; GET ${client.origin}/cluster shows how far it is`,
  );
  return exitCodes.done;
}

function clientOf({ node, config, ...options }: LeaveOptions): NodeClient {
  if ((node === undefined) === (config === undefined))
    throw new UsageError('name the node by --node or by --config');
  if (node !== undefined) return new NodeClient(node, options, process.env);
  const { listen, name, tls } = readConfigFile(config ?? '', process.env);
  if (listen === undefined) throw new UsageError(`${name} has no HTTP listener; listen is off`);
  return new NodeClient(listen, options, process.env, tls !== undefined);
}
