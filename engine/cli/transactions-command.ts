/** `lockstep transactions`: what is in doubt on a node, and an operator's decision over it. */
import type { Command } from 'commander';
import { Argument } from 'commander';

import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import type { AskingOptions } from './node-client.ts';
import { NodeClient, problemOf, withAskingOptions } from './node-client.ts';

interface NodeOptions extends AskingOptions {
  readonly node: string;
}

/** Adds the command `transactions` with its subcommands. */
export function addTransactionsCommand(program: Command, finish: (code: ExitCode) => void): void {
  const transactions = program
    .command('transactions')
    .description('transactions in doubt: list them, and, when all else has failed, decide over one');
  onNode(transactions.command('list'))
    .description('what waits on this node, as JSON')
    .action(async (options: NodeOptions) => finish(await list(options)));
  onNode(transactions.command('resolve'))
    .argument('<id>', 'the transaction')
    .addArgument(new Argument('<decision>', 'what becomes of it').choices(['commit', 'rollback', 'abandon']))
    .description(
      'commit or roll back a branch that is prepared on this node and whose coordinator is gone; or abandon, at its coordinator, the lost branches of a transaction that is decided, or the outcome that only a lost node knows',
    )
    .action(async (id: string, decision: string, options: NodeOptions) =>
      finish(await resolve(id, decision, options)),
    );
}

function onNode(command: Command): Command {
  return withAskingOptions(command).requiredOption(
    '--node <address>',
    'the node’s HTTP listener, as host:port or https://host:port',
  );
}

async function list({ node, ...asking }: NodeOptions): Promise<ExitCode> {
  const client = new NodeClient(node, asking, process.env);
  const { status, text } = await client.ask('GET', '/transactions?state=in_doubt');
  if (status !== 200) throw new Error(`${client.origin} refused: ${problemOf(status, text)}`);
  console.log(text.trimEnd());
  return exitCodes.done;
}

async function resolve(id: string, decision: string, { node, ...asking }: NodeOptions): Promise<ExitCode> {
  const client = new NodeClient(node, asking, process.env);
  const path = `/transactions/${encodeURIComponent(id)}/resolve`;
  const { status, text } = await client.ask('POST', path, JSON.stringify({ heuristic: decision }));
  if (status !== 200) throw new Error(`${client.origin} refused: ${problemOf(status, text)}`);
  console.log(text.trimEnd());
  return exitCodes.done;
}
