/** Plans that differ from another by one thing: without an item, or with one moment moved. Pure. */
import type { Plan, PlanFault } from '../plan/plan.ts';

/** The ids of a plan's faults, then of its operations. */
export function idsOf({
  faults,
  operations,
  transactions,
  redisOperations = [],
  jobs = [],
}: Plan): readonly string[] {
  return [...faults, ...operations, ...transactions, ...redisOperations, ...jobs].map(({ id }) => id);
}

/** The plan without the fault or the operation of that id. */
export function without(plan: Plan, id: string): Plan {
  return mapped(plan, <T extends { readonly id: string }>(items: readonly T[]) =>
    items.filter((item) => item.id !== id),
  );
}

/** How far a fault can be moved, in microseconds. */
export function reachOf(plan: Plan, id: string): { readonly earlierUs: number; readonly laterUs: number } {
  const when = plan.faults.find((one) => one.id === id)?.when ?? { atUs: 0 };
  return { earlierUs: 'atUs' in when ? when.atUs : when.delayUs, laterUs: 1_000_000 };
}

/** The plan with the fault of that id so much later; negative: earlier, but not before the beginning. */
export function moved(plan: Plan, id: string, byUs: number): Plan {
  const later = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when
      ? { atUs: Math.max(0, when.atUs + byUs) }
      : { ...when, delayUs: Math.max(0, when.delayUs + byUs) };
  const faults = plan.faults.map((fault) => (fault.id === id ? { ...fault, when: later(fault) } : fault));
  return { ...plan, faults };
}

function mapped(
  plan: Plan,
  map: <T extends { readonly id: string }>(items: readonly T[]) => readonly T[],
): Plan {
  return {
    ...plan,
    faults: map(plan.faults),
    operations: map(plan.operations),
    transactions: map(plan.transactions),
    ...(plan.redisOperations === undefined ? {} : { redisOperations: map(plan.redisOperations) }),
    ...(plan.jobs === undefined ? {} : { jobs: map(plan.jobs) }),
  };
}
