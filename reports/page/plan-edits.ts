/** Edits of a plan: each gives a new plan, which `lockstep-sim replay` takes. Pure. */
import type { Plan, PlanFault } from '../../sim/plan/plan.ts';
import { withoutRecord } from '../../sim/plan/plan.ts';

/** The plan without the fault or operation of that id. */
export function dropFrom(plan: Plan, id: string): Plan {
  const rest = <T extends { readonly id: string }>(items: readonly T[]): readonly T[] =>
    items.filter((item) => item.id !== id);
  return {
    ...withoutRecord(plan),
    faults: rest(plan.faults),
    operations: rest(plan.operations),
    transactions: rest(plan.transactions),
    ...(plan.redisOperations === undefined ? {} : { redisOperations: rest(plan.redisOperations) }),
    ...(plan.jobs === undefined ? {} : { jobs: rest(plan.jobs) }),
  };
}

/** The plan with a fault earlier or later; never before the storm. */
export function moveFault(plan: Plan, id: string, byUs: number): Plan {
  const moved = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when
      ? { atUs: Math.min(plan.stormUs, Math.max(0, when.atUs + byUs)) }
      : { ...when, delayUs: Math.max(0, when.delayUs + byUs) };
  return {
    ...withoutRecord(plan),
    faults: plan.faults.map((fault) => (fault.id === id ? { ...fault, when: moved(fault) } : fault)),
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
