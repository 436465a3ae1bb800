/** Edits of a plan: each gives a new plan, which `lockstep-sim replay` takes. Pure. */
import type { Plan, PlanFault } from '../../sim/plan/plan.ts';
import { withoutRecord } from '../../sim/plan/plan.ts';
import { withItemOf, withoutItem } from '../../sim/plan/plan-items.ts';

/** The plan without the fault, the operation or the change of that id. */
export function dropFrom(plan: Plan, id: string): Plan {
  return withoutItem(withoutRecord(plan), id);
}

/** The plan with one item of the original, as it was and at its place. */
export function putBack(original: Plan, plan: Plan, id: string): Plan {
  return withItemOf(original, withoutRecord(plan), id);
}

/** The plan with a fault, or anything else that has its moment, earlier or later; never outside the storm. */
export function moveItem(plan: Plan, id: string, byUs: number): Plan {
  const within = (atUs: number): number => Math.min(plan.stormUs, Math.max(0, atUs + byUs));
  const moved = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when ? { atUs: within(when.atUs) } : { ...when, delayUs: Math.max(0, when.delayUs + byUs) };
  const movedIn = <T extends { readonly id: string; readonly atUs: number }>(
    items: readonly T[],
  ): readonly T[] => items.map((item) => (item.id === id ? { ...item, atUs: within(item.atUs) } : item));
  return {
    ...withoutRecord(plan),
    faults: plan.faults.map((fault) => (fault.id === id ? { ...fault, when: moved(fault) } : fault)),
    malformedInput: movedIn(plan.malformedInput),
    scrapes: movedIn(plan.scrapes),
    ...(plan.bucketChanges === undefined ? {} : { bucketChanges: movedIn(plan.bucketChanges) }),
    ...(plan.backups === undefined ? {} : { backups: movedIn(plan.backups) }),
  };
}

/** The plan with one more fault, under an id that the plan does not use yet. */
export function addFault(plan: Plan, fault: Omit<PlanFault, 'id'>): Plan {
  const used = new Set(plan.faults.map(({ id }) => id));
  let number = plan.faults.length;
  while (used.has(`f${number}`)) number += 1;
  return { ...withoutRecord(plan), faults: [...plan.faults, { id: `f${number}`, ...fault }] };
}

/** The same plan from another seed: the same choices, other latencies. */
export function withSeed(plan: Plan, seed: number): Plan {
  return { ...withoutRecord(plan), seed };
}
