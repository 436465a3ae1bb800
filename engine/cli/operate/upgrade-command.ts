/** `lockstep upgrade`: what the members of a cluster speak, and the end of an upgrade. */
import type { Command } from 'commander';

import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { table } from '../terminal.ts';
import { parsed } from './cluster-view.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';

interface UpgradeOptions extends NamedNodeOptions {
  readonly json?: boolean;
}

/** What `GET /upgrade` answers. */
interface UpgradeView {
  readonly product: string;
  readonly version: { readonly minimum: number; readonly max: number };
  readonly members: readonly {
    readonly node: string;
    readonly reached: boolean;
    readonly max?: number;
    readonly minimum?: number;
    readonly detail?: string;
  }[];
}

const helpAfter = `
Nodes of a version and of the one before it form one cluster, and each can go back, until the upgrade is finalized.
finalize asks every member, and changes nothing unless all are reached and speak what the named node speaks. After it
no node of the version before can be a member: a backup is then the only way back.

Examples:
  lockstep upgrade status --node 127.0.0.1:8098
  lockstep upgrade finalize --node 127.0.0.1:8098`;

/** Adds the command `upgrade` with its subcommands. `finish` gets the exit code. */
export function addUpgradeCommand(program: Command, finish: (code: ExitCode) => void): void {
  const command = program
    .command('upgrade')
    .description('which versions the members speak, and the end of an upgrade')
    .addHelpText('after', helpAfter);
  withNamedNode(command.command('status'))
    .option('--json', 'print what the node answers')
    .description('show which versions of peer messages each member speaks')
    .action(async (options: UpgradeOptions) => finish(await show(options, 'GET', '/upgrade')));
  withNamedNode(command.command('finalize'))
    .option('--json', 'print what the node answers')
    .description('raise the cluster’s minimum to what the node speaks: the way back ends')
    .action(async (options: UpgradeOptions) => finish(await show(options, 'POST', '/upgrade/finalize')));
}

async function show(
  { json, ...named }: UpgradeOptions,
  method: 'GET' | 'POST',
  path: string,
): Promise<ExitCode> {
  const client = clientOf(named);
  const text = await client.obtain(200, method, path);
  if (json === true) {
    console.log(text.trimEnd());
    return exitCodes.done;
  }
  const { version, members } = parsed<UpgradeView>(client, text);
  const rows = members.map(({ node, max, minimum, detail = '' }) => [
    node,
    max === undefined ? '?' : String(max),
    minimum === undefined ? '?' : String(minimum),
    detail,
  ]);
  console.log(table([['member', 'speaks up to', 'minimum', ''], ...rows]));
  const isFinal = members.every(({ minimum }) => minimum === version.max);
  console.log(
    isFinal
      ? `the cluster is finalized at version ${version.max}`
      : `the cluster's minimum is ${version.minimum}; "upgrade finalize" raises it to ${version.max} once every member speaks that`,
  );
  return exitCodes.done;
}
