/** Reads the transactions in doubt on a node, and describes those that only an operator can end. */
import type { ClusterView } from '../../node/node.ts';
import { parsed } from './cluster-view.ts';
import { invocation } from '../invocation.ts';
import type { NodeClient } from './node-client.ts';
import type { Painter } from '../terminal.ts';
import { table } from '../terminal.ts';

/** A transaction whose outcome the node does not know, or which other nodes may not know yet. */
export interface InDoubt {
  readonly transaction_id: string;
  readonly role: string;
  readonly state: string;
  readonly coordinator: string;
  readonly branches: readonly string[];
  /** Branches that no node can apply any more. */
  readonly lost?: readonly string[];
  readonly age_ms: number;
}

const path = '/transactions?state=in_doubt';

/** Asks the node. Rejects if it cannot be reached, refuses, or is not a Lockstep node. */
export async function inDoubtAt(client: NodeClient): Promise<readonly InDoubt[]> {
  const text = await client.obtain(200, 'GET', path);
  return parsed<{ readonly transactions: readonly InDoubt[] }>(client, text).transactions;
}

/** The node's answer as it is, without the final line break. */
export async function inDoubtText(client: NodeClient): Promise<string> {
  return (await client.obtain(200, 'GET', path)).trimEnd();
}

const heading = ['transaction', 'here', 'state', 'coordinator', 'branches', 'lost', 'for'];

/** A table with one line per transaction, the oldest first. */
export function inDoubtTable(inDoubt: readonly InDoubt[]): string {
  const rows = inDoubt
    .toSorted((left, right) => right.age_ms - left.age_ms)
    .map(({ transaction_id: id, role, state, coordinator, branches, lost = [], age_ms: age }) => {
      const gone = lost.length > 0 ? lost.join(', ') : '-';
      return [id, role, state, coordinator, branches.join(', '), gone, `${(age / 1000).toFixed(1)} s`];
    });
  return table([heading, ...rows]);
}

/** Lines on transactions whose coordinator or branches are gone, which only an operator can end; at most `shownMax`. */
export function orphanLines(
  { members }: ClusterView,
  inDoubt: readonly InDoubt[],
  paint: Painter,
  shownMax = Infinity,
): readonly string[] {
  const known = new Set(members.map(({ node }) => node));
  const orphans = inDoubt.flatMap(({ transaction_id: id, role, state, coordinator, lost = [] }) => {
    if (lost.length > 0)
      return [`${id} has lost its branches at ${lost.join(', ')}; ${remedyFor('branches')}`];
    if (role !== 'branch' || known.has(coordinator)) return [];
    const what = `${id} has lost its coordinator: ${coordinator} is no longer a member`;
    return [`${what}; ${remedyFor(state === 'prepared' ? 'coordinator' : 'comparison')}`];
  });
  const lines = orphans.slice(0, shownMax).map((line) => paint.bad(line));
  const more = orphans.length - lines.length;
  return more > 0 ? [...lines, `and ${more} more that wait for a node that is gone`] : lines;
}

/** The command that the operator must type. */
function remedyFor(what: 'branches' | 'coordinator' | 'comparison'): string {
  const resolve = `${invocation()} transactions resolve`;
  switch (what) {
    case 'branches':
      return `it is committed, and waits for ${resolve} with abandon`;
    case 'coordinator':
      return `unless another branch knows the outcome, it waits for ${resolve} with commit or rollback`;
    case 'comparison':
      return `it was decided by hand, and is kept until ${resolve} with abandon`;
  }
}
