/** `lockstep transactions`: what is in doubt on a node, and an operator's decision over it. */
import type { Command } from 'commander';
import { Argument } from 'commander';

import { clusterOf } from './cluster-view.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import { inDoubtAt, inDoubtTable, inDoubtText, orphanLines } from './in-doubt.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';
import { painterFor } from './terminal.ts';

interface ListOptions extends NamedNodeOptions {
  readonly json?: boolean;
}

/** Adds the command `transactions` with its subcommands. */
export function addTransactionsCommand(program: Command, finish: (code: ExitCode) => void): void {
  const transactions = program
    .command('transactions')
    .description('transactions in doubt: list them, and, when all else has failed, decide over one');
  withNamedNode(transactions.command('list'))
    .option('--json', 'print what the node answers to GET /transactions?state=in_doubt')
    .description('what waits on this node, and what of it waits for an operator')
    .action(async (options: ListOptions) => finish(await list(options)));
  withNamedNode(transactions.command('resolve'))
    .argument('<id>', 'the transaction')
    .addArgument(new Argument('<decision>', 'what becomes of it').choices(['commit', 'rollback', 'abandon']))
    .description(
      'commit or roll back a branch that is prepared on this node and whose coordinator is gone; or abandon, at its coordinator, the lost branches of a transaction that is decided, or the outcome that only a lost node knows; or abandon what was decided by hand here for a coordinator that is gone',
    )
    .action(async (id: string, decision: string, options: NamedNodeOptions) =>
      finish(await resolve(id, decision, options)),
    );
}

async function list({ json, ...named }: ListOptions): Promise<ExitCode> {
  const client = clientOf(named);
  if (json === true) {
    console.log(await inDoubtText(client));
    return exitCodes.done;
  }
  const paint = painterFor(process.stdout);
  const inDoubt = await inDoubtAt(client);
  const view = await clusterOf(client);
  if (inDoubt.length === 0) {
    console.log(paint.good(`nothing is in doubt on ${view.node}`));
    return exitCodes.done;
  }
  const [head = '', ...rows] = inDoubtTable(inDoubt).split('\n');
  const orphans = orphanLines(view, inDoubt, paint);
  console.log([paint.quiet(head), ...rows, ...(orphans.length > 0 ? ['', ...orphans] : [])].join('\n'));
  return exitCodes.done;
}

async function resolve(id: string, decision: string, named: NamedNodeOptions): Promise<ExitCode> {
  const path = `/transactions/${encodeURIComponent(id)}/resolve`;
  const text = await clientOf(named).obtain(200, 'POST', path, JSON.stringify({ heuristic: decision }));
  console.log(text.trimEnd());
  return exitCodes.done;
}
