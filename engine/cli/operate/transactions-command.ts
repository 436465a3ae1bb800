/** `lockstep transactions`: lists the transactions in doubt on a node, and sends an operator's heuristic decision. */
import { createInterface } from 'node:readline/promises';

import type { Command } from 'commander';
import { Argument } from 'commander';

import { foldedHelp } from '../help-text.ts';
import { clusterOf, parsed } from './cluster-view.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import { inDoubtAt, inDoubtTable, inDoubtText, orphanLines } from './in-doubt.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';
import { painterFor, table } from '../terminal.ts';

/** What one member knows of a transaction, as `GET /transactions/ID?members=true` answers. */
export interface MemberKnowledge {
  readonly node: string;
  readonly role: 'coordinator' | 'branch';
  readonly knows: 'committed' | 'aborted' | 'undecided' | 'unknown' | 'forgotten' | 'unreachable';
}

interface ResolveOptions extends NamedNodeOptions {
  readonly yes?: boolean;
}

const helpAfter = `
Shows first what the coordinator and every member know of the transaction. A decision that differs from what one of
them knows, or will learn, leaves the transaction half done: wait for members that do not answer where you can.`;

interface ListOptions extends NamedNodeOptions {
  readonly json?: boolean;
}

/** Adds the command `transactions` with its subcommands. `finish` gets the exit code. */
export function addTransactionsCommand(program: Command, finish: (code: ExitCode) => void): void {
  const transactions = program
    .command('transactions')
    .description('transactions in doubt: list them, and, when all else has failed, decide over one');
  withNamedNode(transactions.command('list'))
    .option('--json', 'print what the node answers to GET /transactions?state=in_doubt')
    .description('what waits on this node, and what of it waits for an operator')
    .action(async (options: ListOptions) => finish(await list(options)));
  withNamedNode(transactions.command('resolve'))
    .option('--yes', 'do not ask whether the decision stands')
    .argument('<id>', 'the transaction')
    .addArgument(new Argument('<decision>', 'what becomes of it').choices(['commit', 'rollback', 'abandon']))
    .description(
      'commit or roll back a branch that is prepared on this node and whose coordinator is gone; or abandon, at its coordinator, the lost branches of a transaction that is decided, or the outcome that only a lost node knows; or abandon what was decided by hand here for a coordinator that is gone',
    )
    .addHelpText('after', foldedHelp(helpAfter))
    .action(async (id: string, decision: string, options: ResolveOptions) =>
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

/** Prints the members' knowledge to stderr, asks the operator, and prints the node's answer alone to stdout. */
async function resolve(
  id: string,
  decision: string,
  { yes = false, ...named }: ResolveOptions,
): Promise<ExitCode> {
  const client = clientOf(named);
  const path = `/transactions/${encodeURIComponent(id)}`;
  const text = await client.obtain(200, 'GET', `${path}?members=true`);
  const { members } = parsed<{ readonly members: readonly MemberKnowledge[] }>(client, text);
  console.error(knowledgeTable(id, members));
  if (!yes && !(await agreed(`${decision} ${id}?`))) {
    console.error('nothing was decided');
    return exitCodes.failed;
  }
  const answer = await client.obtain(200, 'POST', `${path}/resolve`, JSON.stringify({ heuristic: decision }));
  console.log(answer.trimEnd());
  return exitCodes.done;
}

/** A table with a line for the coordinator and for each member. */
export function knowledgeTable(id: string, members: readonly MemberKnowledge[]): string {
  const rows = members.map(({ node, role, knows }) => [node, role, wordFor[knows]]);
  return table([[`of ${id}`, 'as', 'knows'], ...rows]);
}

const wordFor: Readonly<Record<MemberKnowledge['knows'], string>> = {
  committed: 'that it is committed',
  aborted: 'that it is aborted',
  undecided: 'that it is not decided yet, or holds a prepared branch of it',
  unknown: 'nothing: it has no record of it',
  forgotten: 'that its record may be lost',
  unreachable: '(it does not answer)',
};

/** Whether the operator agrees. Rejects with `UsageError` if stdin is not a terminal. */
async function agreed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    throw new UsageError('resolve asks on a terminal whether the decision stands; elsewhere add --yes');
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await asking.question(`${question} [y/N] `)).trim());
  } finally {
    asking.close();
  }
}
