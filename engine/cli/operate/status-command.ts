/** `lockstep status`: prints one node's view of the members, of ring changes, and of its transactions in doubt. */
import type { Command } from 'commander';

import { foldedHelp } from '../help-text.ts';
import type { ClusterView, MemberView } from '../../node/node.ts';
import {
  counted,
  isSettled,
  moveLines,
  parsed,
  silentIn,
  standbyIn,
  unconnectedIn,
  unheardIn,
} from './cluster-view.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { InDoubt } from './in-doubt.ts';
import { inDoubtAt, orphanLines } from './in-doubt.ts';
import { invocation } from '../invocation.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';
import type { Painter } from '../terminal.ts';
import { painterFor, table } from '../terminal.ts';
import type { WaitingOptions } from './waiting.ts';
import { isWaiting, waitUntil, withWaiting } from './waiting.ts';

interface StatusOptions extends NamedNodeOptions, WaitingOptions {
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** Adds the command `status`. `finish` gets the exit code. */
export function addStatusCommand(program: Command, finish: (code: ExitCode) => void): void {
  withWaiting(
    withNamedNode(program.command('status')),
    'until every member is up and no ring change is under way',
  )
    .option('--json', 'print what the node answers to GET /cluster')
    .option('--quiet', 'print nothing: the exit code tells')
    .addHelpText('after', foldedHelp(helpAfter))
    .description('the members, their states and the ring changes under way, as one node knows them')
    .action(async (options: StatusOptions) => finish(await status(options)));
}

const helpAfter = `
Exit code: 0, or 1 when a member is DOWN or the node's store takes no writes, and when the node cannot be asked.`;

async function status({ json, quiet, ...named }: StatusOptions): Promise<ExitCode> {
  const client = clientOf(named);
  if (isWaiting(named))
    await waitUntil(client, named, ({ view }) => (view === undefined ? false : isSettled(view)));
  const text = await client.obtain(200, 'GET', '/cluster');
  const view = parsed<ClusterView>(client, text);
  if (quiet !== true) {
    const shown =
      json === true
        ? text.trimEnd()
        : describeCluster(view, await inDoubtAt(client), painterFor(process.stdout));
    console.log(shown);
  }
  return isWell(view) ? exitCodes.done : exitCodes.failed;
}

/** Whether nothing needs an operator now. Ring changes and members that were not heard yet do not count as faults. */
function isWell(view: ClusterView): boolean {
  return view.store === 'open' && silentIn(view).length === 0;
}

/** The text for an operator: the table of members, and remarks on what is not in order. */
export function describeCluster(view: ClusterView, inDoubt: readonly InDoubt[], paint: Painter): string {
  const rows = table([memberHeading, ...view.members.map(memberRow)]).split('\n');
  return [
    `${paint.strong(view.node)}, whose view of the ring is ${view.view}`,
    '',
    ...rows.map((row, index) => paintRow(row, view.members[index - 1], paint)),
    '',
    ...remarks(view, inDoubt, paint),
  ].join('\n');
}

const memberHeading = ['node', 'datacenter', 'rack', 'state', 'move', 'of its rack', 'tokens', 'address'];

function memberRow(member: MemberView): readonly string[] {
  const { node, datacenter, rack, state, move, share, tokens, address } = member;
  const ownership = member.owns ? `${(share / 1000).toFixed(1)} %` : '-';
  return [node, datacenter, rack, state, move === 'none' ? '-' : move, ownership, String(tokens), address];
}

function paintRow(row: string, member: MemberView | undefined, paint: Painter): string {
  if (member === undefined) return paint.quiet(row);
  if (member.state === 'DOWN') return paint.bad(row);
  return member.state === 'NORMAL' && member.move === 'none' ? row : paint.strong(row);
}

const orphansShownMax = 5;

function remarks(view: ClusterView, inDoubt: readonly InDoubt[], paint: Painter): readonly string[] {
  const lines: string[] = [];
  const away = silentIn(view);
  if (away.length > 0) lines.push(paint.bad(`silent: ${away.join(', ')}`));
  const unconnected = unconnectedIn(view);
  if (unconnected.length > 0) lines.push(paint.bad(`no connection at present: ${unconnected.join(', ')}`));
  const unheard = unheardIn(view);
  if (unheard.length > 0) lines.push(`not heard of since ${view.node} started: ${unheard.join(', ')}`);
  for (const node of standbyIn(view)) {
    lines.push(`${node} is in STANDBY until ${invocation()} standby --return takes it back`);
  }
  if (view.store !== 'open') {
    lines.push(paint.bad(`the store of ${view.node} is ${view.store}: it answers reads and takes no writes`));
  }
  if (view.hint_store === 'failed')
    lines.push(paint.bad(`${view.node} keeps no writes for others that miss them: its hint store is failed`));
  for (const { node, detail } of view.refused ?? [])
    lines.push(paint.bad(`${view.node} and ${node} do not connect: ${detail}`));
  lines.push(...moveLines(view));
  const { seconds, transactions } = view.held;
  if (transactions.length > 0) {
    lines.push(`for ${seconds} s the ring has not changed here, because of ${transactions.join(', ')}`);
  }
  if (inDoubt.length > 0) {
    lines.push(
      `${counted(inDoubt.length, 'transaction')} in doubt here; ${invocation()} transactions list shows which`,
    );
  }
  lines.push(...orphanLines(view, inDoubt, paint, orphansShownMax));
  return lines.length > 0 ? lines : [paint.good('nothing is silent, moves, or is in doubt here')];
}
