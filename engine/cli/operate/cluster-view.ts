/** Reads the cluster as one node knows it (`GET /cluster`), and describes what is still in progress. */
import type { ClusterView, MemberView } from '../../node/node.ts';
import type { NodeClient } from './node-client.ts';

/** Asks the node. Rejects if it cannot be reached, refuses, or is not a Lockstep node. */
export async function clusterOf(client: NodeClient): Promise<ClusterView> {
  return parsed<ClusterView>(client, await client.obtain(200, 'GET', '/cluster'));
}

/** Parses a node's answer. Throws if it is not JSON. */
export function parsed<Answer>({ origin }: NodeClient, text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch (cause) {
    throw new Error(`${origin} answers no JSON; is that the HTTP listener of a node?`, { cause });
  }
}

/** The answering node's own record; undefined if it is not a member. */
export function selfOf({ node, members }: ClusterView): MemberView | undefined {
  return members.find((member) => member.node === node);
}

/** The members that the answering node considers DOWN. */
export function silentIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'DOWN');
}

/** The members that the answering node has not heard since it started. */
export function unheardIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'UNKNOWN');
}

/**
 * The members that the answering node has no connection to although it considers none of them DOWN (yet), and although
 * neither refuses the other.
 */
export function unconnectedIn(view: ClusterView): readonly string[] {
  const explained = [...silentIn(view), ...unheardIn(view), ...(view.refused ?? []).map(({ node }) => node)];
  return (view.unconnected ?? []).filter((node) => !explained.includes(node));
}

/** The members in STANDBY, which serve no client. */
export function standbyIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'STANDBY');
}

function whoIs({ members }: ClusterView, what: MemberView['state']): readonly string[] {
  return members.filter(({ state }) => state === what).map(({ node }) => node);
}

/** Whether every member is NORMAL, no ring change is under way, and the answering node waits for nothing. */
export function isSettled(view: ClusterView): boolean {
  const isCalm = ({ state, move }: MemberView): boolean => state === 'NORMAL' && move === 'none';
  return view.store === 'open' && view.members.every(isCalm) && moveLines(view).length === 0;
}

/** Lines on the members in a ring change, the answering node's progress in it, and what that node waits for. */
export function moveLines({ node, members, transfer }: ClusterView): readonly string[] {
  const { ranges, ranges_left: left, waits_for: waits } = transfer;
  const moving = members.filter((member) => member.move !== 'none');
  const lines = moving.map((member) => `${member.node} is ${member.state}: ${member.move}`);
  if (left > 0) lines.push(`${node} has moved ${ranges - left} of ${counted(ranges, 'range')}`);
  const waited = [
    ...(waits.members.length > 0 ? [waits.members.join(', ')] : []),
    ...(waits.transactions > 0 ? [counted(waits.transactions, 'transaction')] : []),
    ...(waits.hints > 0 ? [`${counted(waits.hints, 'write')} kept for others`] : []),
  ];
  if (waited.length > 0) lines.push(`${node} waits for ${waited.join('; ')}`);
  return lines;
}

/** For example `1 range` or `1,200 ranges`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
