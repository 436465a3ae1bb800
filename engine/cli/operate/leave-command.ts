/** `lockstep leave`: asks a running node to hand over its ranges and to leave its cluster. */
import type { Command } from 'commander';

import { clusterOf, selfOf } from './cluster-view.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { invocation } from '../invocation.ts';
import type { NamedNodeOptions } from './named-node.ts';
import { clientOf, withNamedNode } from './named-node.ts';
import type { NodeClient } from './node-client.ts';
import { isNobody } from './node-client.ts';
import type { ClusterSample, WaitingOptions } from './waiting.ts';
import { isWaiting, waitUntil, withWaiting } from './waiting.ts';

interface LeaveOptions extends NamedNodeOptions, WaitingOptions {
  readonly force?: boolean;
}

/** Adds the command `leave`. `finish` gets the exit code. */
export function addLeaveCommand(program: Command, finish: (code: ExitCode) => void): void {
  withWaiting(withNamedNode(program.command('leave')), 'until it has left')
    .option('--force', 'leave although the rack, and its copy of all keys, goes with the node')
    .description('take a node out of its cluster: it hands over what it owns, then stops')
    .action(async (options: LeaveOptions) => finish(await leave(options)));
}

async function leave({ force, ...named }: LeaveOptions): Promise<ExitCode> {
  const client = clientOf(named);
  const waits = isWaiting(named);
  if (!waits || !(await isLeaving(client)))
    await client.obtain(202, 'POST', `/cluster/leave${force === true ? '?force=true' : ''}`);
  if (waits) {
    await waitUntil(client, named, untilGone(client));
    console.log(`${client.origin} has left: it has handed over what it owned, and answers no more`);
  } else {
    console.log(
      `${client.origin} hands over what it owns and then leaves; ${invocation()} status --node ${client.origin} shows how far it is`,
    );
  }
  return exitCodes.done;
}

/** Whether the node leaves already, for example because an earlier `leave --wait` was interrupted. */
async function isLeaving(client: NodeClient): Promise<boolean> {
  return selfOf(await clusterOf(client))?.state === 'LEAVING';
}

/** Whether the node has handed over its ranges and stopped. Throws if it stopped before the handover was complete. */
function untilGone({ origin }: NodeClient): (look: ClusterSample) => boolean {
  let step = '';
  return ({ view, error }) => {
    const self = view === undefined ? undefined : selfOf(view);
    if (self !== undefined) step = self.move;
    if (error === undefined || !isNobody(error)) return false;
    if (step === 'switching') return true;
    throw new Error(
      `${origin} is gone, and was not seen to have handed over what it owns; where another node still has it as a member, start it again, and it goes on`,
    );
  };
}
