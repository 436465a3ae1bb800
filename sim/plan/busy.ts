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
  const busy: Record<string, number> = {};
  for (const did of pairedWork(plan, begun)) {
    for (const [index, { item, begun: from }] of did.entries()) {
      const next = did[index + 1];
      if (next !== undefined)
        busy[item.id] = Math.max(0, next.begun.invokedUs - next.item.thinkUs - from.invokedUs);
    }
  }
  return busy;
}

/** The ids in the plan of what clients did in the run. */
export function plannedIds<Did extends Begun>(plan: Plan, begun: readonly Did[]): ReadonlyMap<Did, string> {
  return new Map(
    pairedWork(plan, begun).flatMap((did) => did.map((one) => [one.begun, one.item.id] as const)),
  );
}

/** For each client, what it did beside the items of its work: each does one after the other, in the plan's order. */
function pairedWork<Did extends Begun>(
  plan: Plan,
  begun: readonly Did[],
): readonly (readonly { readonly item: Item; readonly begun: Did }[])[] {
  const moments = groupsOf(begun, ({ client }) => client);
  const { operations, transactions, redisOperations = [], jobs = [] } = plan;
  const sorts: Readonly<Record<string, readonly Item[]>> = {
    ...{ c: operations, x: transactions, r: redisOperations, j: jobs },
  };
  return Object.entries(sorts).flatMap(([sort, work]) =>
    [...groupsOf(work, (item) => `${sort}${item.client}`)].map(([client, items]) => {
      const did = (moments.get(client) ?? []).toSorted((left, right) => left.invokedUs - right.invokedUs);
      return items.flatMap((item, index) => {
        const one = did[index];
        return one === undefined ? [] : [{ item, begun: one }];
      });
    }),
  );
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
