/** `lockstep standby`: puts a running node into STANDBY, in which it serves no client, or takes it back. */
import type { Command } from 'commander';

import { foldedHelp } from '../help-text.ts';
import type { ClusterView } from '../../node/node.ts';
import { parsed } from './cluster-view.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { invocation } from '../invocation.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';

interface StandbyOptions extends NamedNodeOptions {
  readonly return?: boolean;
  readonly json?: boolean;
}

/** Adds the command `standby`. `finish` gets the exit code. */
export function addStandbyCommand(program: Command, finish: (code: ExitCode) => void): void {
  withNamedNode(program.command('standby'))
    .option('--return', 'take the node back: it serves clients again')
    .option('--json', 'print what the node answers: the cluster as GET /cluster shows it')
    .addHelpText('after', foldedHelp(helpAfter))
    .description('put a node in STANDBY: it keeps its keys and takes every write, and serves no client')
    .action(async (options: StandbyOptions) => finish(await standby(options)));
}

const helpAfter = `
Other nodes read from it only where too few other replicas of a key are left. It stays the primary of its keys'
transactions; lockstep leave moves those. It is refused where members that serve reads would hold less than a majority of
some key's copies without it: in a datacenter of one or two racks always, of three where one of the others is away.

Examples:
  lockstep standby --node 127.0.0.1:8098           before work on its machine
  lockstep standby --node 127.0.0.1:8098 --return  after it`;

async function standby({ return: ends = false, json, ...named }: StandbyOptions): Promise<ExitCode> {
  const client = clientOf(named);
  const text = await client.obtain(200, 'POST', `/cluster/standby${ends ? '?return=true' : ''}`);
  const { node } = parsed<ClusterView>(client, text);
  const back = `${invocation()} standby --node ${client.origin} --return takes it back`;
  const told = ends
    ? `${node} serves clients again`
    : `${node} is in STANDBY: it takes writes and serves no client; ${back}`;
  console.log(json === true ? text.trimEnd() : told);
  return exitCodes.done;
}
