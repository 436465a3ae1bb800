/** What a plan does, item by item: its faults, its clients' work, and what its operator does. Pure. */
import type { Plan } from './plan.ts';

/** Anything of a plan that has an id of its own. */
interface Item {
  readonly id: string;
}

/** The ids of a plan's faults, then of its operations, then of what its operator does. */
export function idsOf(plan: Plan): readonly string[] {
  const { faults, operations, transactions, redisOperations = [], jobs = [] } = plan;
  const { bucketChanges = [], backups = [], malformedInput, scrapes } = plan;
  const work: readonly Item[] = [...operations, ...transactions, ...redisOperations, ...jobs];
  const others: readonly Item[] = [...bucketChanges, ...backups, ...malformedInput, ...scrapes];
  return [...faults, ...work, ...others].map(({ id }) => id);
}

/** The plan without the item of that id. */
export function withoutItem(plan: Plan, id: string): Plan {
  return joined(plan, plan, (items) => items.filter((item) => item.id !== id));
}

/** The plan with the item of that id as `original` has it, at its place. */
export function withItemOf(original: Plan, plan: Plan, id: string): Plan {
  return joined(plan, original, (kept, all) => {
    const rest = new Map(kept.map((item) => [item.id, item]));
    const known = all.flatMap((item) => (item.id === id ? [item] : (rest.get(item.id) ?? [])));
    return [...known, ...kept.filter((item) => !all.some((one) => one.id === item.id))];
  });
}

/** The plan with every list made of it and of the same list of another plan. */
function joined(
  plan: Plan,
  other: Plan,
  join: <T extends Item>(items: readonly T[], others: readonly T[]) => readonly T[],
): Plan {
  const optional = <T extends Item>(
    items: readonly T[] | undefined,
    others: readonly T[] | undefined,
  ): readonly T[] | undefined =>
    items === undefined && others === undefined ? undefined : join(items ?? [], others ?? []);
  const redisOperations = optional(plan.redisOperations, other.redisOperations);
  const jobs = optional(plan.jobs, other.jobs);
  const bucketChanges = optional(plan.bucketChanges, other.bucketChanges);
  const backups = optional(plan.backups, other.backups);
  return {
    ...plan,
    faults: join(plan.faults, other.faults),
    operations: join(plan.operations, other.operations),
    transactions: join(plan.transactions, other.transactions),
    ...(redisOperations === undefined ? {} : { redisOperations }),
    ...(jobs === undefined ? {} : { jobs }),
    malformedInput: join(plan.malformedInput, other.malformedInput),
    scrapes: join(plan.scrapes, other.scrapes),
    ...(bucketChanges === undefined ? {} : { bucketChanges }),
    ...(backups === undefined ? {} : { backups }),
  };
}
