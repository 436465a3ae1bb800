/** The cluster as one node knows it (`GET /cluster`), and what of it people wait for. */
import type { ClusterView, MemberView } from '../node/node.ts';
import type { NodeClient } from './node-client.ts';

/** Rejects when the node cannot be asked, refuses, or is none. */
export async function clusterOf(client: NodeClient): Promise<ClusterView> {
  return parsed<ClusterView>(client, await client.obtain(200, 'GET', '/cluster'));
}

/** What a node has answered. Throws when that is no JSON. */
export function parsed<Answer>({ origin }: NodeClient, text: string): Answer {
  try {
    return JSON.parse(text) as Answer;
  } catch (cause) {
    throw new Error(`${origin} answers no JSON; is that the HTTP listener of a node?`, { cause });
  }
}

/** The node that has answered, as it sees itself. */
export function selfOf({ node, members }: ClusterView): MemberView | undefined {
  return members.find((member) => member.node === node);
}

export function silentIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'DOWN');
}

/** Whom the node that has answered has not heard of since it started. */
export function unheardIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'UNKNOWN');
}

/** Members that serve no client. */
export function standbyIn(view: ClusterView): readonly string[] {
  return whoIs(view, 'STANDBY');
}

function whoIs({ members }: ClusterView, what: MemberView['state']): readonly string[] {
  return members.filter(({ state }) => state === what).map(({ node }) => node);
}

/** Everybody is there, nobody moves, and the node that has answered waits for nothing. */
export function isSettled(view: ClusterView): boolean {
  const isCalm = ({ state, move }: MemberView): boolean => state === 'NORMAL' && move === 'none';
  return view.store === 'open' && view.members.every(isCalm) && moveLines(view).length === 0;
}

/** Who moves, how far the node that has answered is with that, and what it waits for. */
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

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
