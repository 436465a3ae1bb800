/** `lockstep leave`: asks a running node to hand over what it owns and to leave its cluster. */
import type { Command } from 'commander';

import type { ExitCode } from './exit-codes.ts';
import { exitCodes, UsageError } from './exit-codes.ts';
import { readConfigFile } from './config-file.ts';

interface LeaveOptions {
  readonly node?: string;
  readonly config?: string;
  readonly force?: boolean;
}

const timeoutMs = 10_000;

export function addLeaveCommand(program: Command, finish: (code: ExitCode) => void): void {
  program
    .command('leave')
    .option('--node <address>', 'the node’s HTTP listener, as host:port')
    .option('-c, --config <file>', 'its configuration file, which names that listener')
    .option('--force', 'leave although the rack, and its copy of all keys, goes with the node')
    .description('take a node out of its cluster: it hands over what it owns, then stops')
    .action(async (options: LeaveOptions) => finish(await leave(options)));
}

async function leave(options: LeaveOptions): Promise<ExitCode> {
  const address = addressOf(options);
  const query = options.force === true ? '?force=true' : '';
  const answer = await ask(`http://${address}/cluster/leave${query}`);
  if (answer.status !== 202) throw new Error(`${address} refused: ${detailOf(await answer.text())}`);
  console.log(
    `${address} hands over what it owns and then leaves; GET http://${address}/cluster shows how far it is`,
  );
  return exitCodes.done;
}

async function ask(url: string): Promise<Response> {
  try {
    return await fetch(url, { method: 'POST', signal: AbortSignal.timeout(timeoutMs) });
  } catch (cause) {
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
    throw new Error(`${url} cannot be asked: ${why}`, { cause });
  }
}

function addressOf({ node, config }: LeaveOptions): string {
  if ((node === undefined) === (config === undefined))
    throw new UsageError('name the node by --node or by --config');
  if (node !== undefined) return node;
  const { listen, name } = readConfigFile(config ?? '', process.env);
  if (listen === undefined) throw new UsageError(`${name} has no HTTP listener; listen is off`);
  return listen;
}

/** The detail of a problem, or the whole text of anything else. */
function detailOf(body: string): string {
  try {
    const problem: unknown = JSON.parse(body);
    const detail: unknown =
      typeof problem === 'object' && problem !== null ? Reflect.get(problem, 'detail') : '';
    return typeof detail === 'string' && detail !== '' ? detail : body;
  } catch {
    return body;
  }
}
