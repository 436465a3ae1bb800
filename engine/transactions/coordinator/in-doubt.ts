/** The operators' list of what is in doubt on a node: transactions that it coordinates, and its branches. */
import type { NodeId } from '../../base/ids.ts';
import type { Active } from './active-transaction.ts';
import { lostBranches } from './active-transaction.ts';
import type { Branches } from '../participant/branches.ts';
import type { Coordinator } from './coordinator.ts';
import type { InDoubtEntry } from '../formats/outcomes.ts';

/**
 * Transactions of this coordinator that are decided and not acknowledged by every branch, or whose decision is unknown.
 */
export function unsettledOf({ all }: Pick<Coordinator, 'all'>): readonly Active[] {
  return all.filter(({ state }) => state.phase !== 'preparing');
}

/** The list of transactions in doubt. `nowMs`: wall clock. */
export function inDoubtOf(
  self: NodeId,
  coordinator: Pick<Coordinator, 'all' | 'singles'>,
  branches: Pick<Branches, 'all'>,
  nowMs: number,
): readonly InDoubtEntry[] {
  const ageOf = (sinceMs: number): number => Math.max(0, nowMs - sinceMs);
  const own = { role: 'coordinator', coordinator: self } as const;
  const decided = unsettledOf(coordinator).map((active) => ({
    xid: active.xid,
    ...own,
    state: active.state.phase,
    branches: active.state.branches.map(({ node }) => node),
    lost: lostBranches(active),
    ageMs: ageOf(active.sinceMs),
  }));
  const lost = coordinator.singles.lost.map(({ xid, node, sinceMs }) => ({
    xid,
    ...own,
    state: 'doubted',
    branches: [node],
    lost: [],
    ageMs: ageOf(sinceMs),
  }));
  const waiting = branches.all
    .filter(({ phase }) => phase === 'prepared' || phase.startsWith('heuristic'))
    .map(({ xid, phase, order, sinceMs }) => ({
      xid,
      role: 'branch' as const,
      state: phase,
      coordinator: order.coordinator,
      branches: order.branches.map(({ node }): NodeId => node),
      lost: [],
      ageMs: ageOf(sinceMs),
    }));
  return [...decided, ...lost, ...waiting];
}
