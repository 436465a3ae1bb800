/** Plans that differ from another by one moment; plan-items.ts makes those without an item. Pure. */
import type { Plan, PlanFault } from '../plan/plan.ts';

/** The ids of what has a moment of its own: faults, and an operator's changes of buckets. */
export function timedIds({ faults, bucketChanges = [] }: Plan): readonly string[] {
  return [...faults, ...bucketChanges].map(({ id }) => id);
}

/** How far a fault, or a change of a bucket, can be moved, in microseconds. */
export function reachOf(plan: Plan, id: string): { readonly earlierUs: number; readonly laterUs: number } {
  const { faults, bucketChanges = [] } = plan;
  const { atUs = 0 } = bucketChanges.find((one) => one.id === id) ?? {};
  const when = faults.find((one) => one.id === id)?.when ?? { atUs };
  return { earlierUs: 'atUs' in when ? when.atUs : when.delayUs, laterUs: 1_000_000 };
}

/** The plan with that fault, or that change of a bucket, so much later; negative: earlier, but not before the beginning. */
export function moved(plan: Plan, id: string, byUs: number): Plan {
  const later = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when
      ? { atUs: Math.max(0, when.atUs + byUs) }
      : { ...when, delayUs: Math.max(0, when.delayUs + byUs) };
  const faults = plan.faults.map((fault) => (fault.id === id ? { ...fault, when: later(fault) } : fault));
  if (plan.bucketChanges === undefined) return { ...plan, faults };
  const bucketChanges = plan.bucketChanges.map((change) =>
    change.id === id ? { ...change, atUs: Math.max(0, change.atUs + byUs) } : change,
  );
  return { ...plan, faults, bucketChanges };
}
