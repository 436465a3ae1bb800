/**
 * How long each client was busy with each item of its work in a run. Where an item is left out, its client waits that
 * long instead, so the items that remain come at the moments at which they came in that run. Pure.
 */
import type { Plan } from './plan.ts';

/** Virtual microseconds by the item's id; an item that a run did not finish is not in it. */
export type BusyTimes = Readonly<Record<string, number>>;

/** An operation, transaction, Redis command or job that a client began. */
export interface Begun {
  readonly client: string;
  readonly invokedUs: number;
}

interface Item {
  readonly id: string;
  readonly client: number;
  readonly thinkUs: number;
}

/** From when the clients of the run began what they did, in any order; what they did beyond the plan came after it. */
export function busyTimesOf(plan: Plan, begun: readonly Begun[]): BusyTimes {
  const moments = groupsOf(begun, ({ client }) => client);
  const busy: Record<string, number> = {};
  const { operations, transactions, redisOperations = [], jobs = [] } = plan;
  const sorts: Readonly<Record<string, readonly Item[]>> = {
    ...{ c: operations, x: transactions, r: redisOperations, j: jobs },
  };
  for (const [sort, work] of Object.entries(sorts)) {
    for (const [client, items] of groupsOf(work, (item) => `${sort}${item.client}`)) {
      const at = (moments.get(client) ?? []).map(({ invokedUs }) => invokedUs).toSorted((a, b) => a - b);
      for (const [index, { id }] of items.entries()) {
        const [from, next, later] = [at[index], at[index + 1], items[index + 1]];
        if (from === undefined || next === undefined || later === undefined) break;
        busy[id] = Math.max(0, next - later.thinkUs - from);
      }
    }
  }
  return busy;
}

function groupsOf<T>(all: readonly T[], nameOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(nameOf(one));
    if (group === undefined) groups.set(nameOf(one), [one]);
    else group.push(one);
  }
  return groups;
}
