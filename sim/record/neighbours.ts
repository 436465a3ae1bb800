/** Plans that differ from another by one moment; plan-items.ts makes those without an item. Pure. */
import type { Plan, PlanFault } from '../plan/plan.ts';

/** The ids of what has a moment of its own: faults, and an operator's changes of buckets and backups. */
export function timedIds({ faults, bucketChanges = [], backups = [] }: Plan): readonly string[] {
  return [...faults, ...bucketChanges, ...backups].map(({ id }) => id);
}

/** How far a fault, a change of a bucket or a backup can be moved, in microseconds. */
export function reachOf(plan: Plan, id: string): { readonly earlierUs: number; readonly laterUs: number } {
  const { faults, bucketChanges = [], backups = [] } = plan;
  const { atUs = 0 } = [...bucketChanges, ...backups].find((one) => one.id === id) ?? {};
  const when = faults.find((one) => one.id === id)?.when ?? { atUs };
  return { earlierUs: 'atUs' in when ? when.atUs : when.delayUs, laterUs: 1_000_000 };
}

/** The plan with that fault, that change of a bucket or that backup so much later; negative: earlier, but not before the beginning. */
export function moved(plan: Plan, id: string, byUs: number): Plan {
  const later = ({ when }: PlanFault): PlanFault['when'] =>
    'atUs' in when
      ? { atUs: Math.max(0, when.atUs + byUs) }
      : { ...when, delayUs: Math.max(0, when.delayUs + byUs) };
  const faults = plan.faults.map((fault) => (fault.id === id ? { ...fault, when: later(fault) } : fault));
  const movedIn = <T extends Timed>(items: readonly T[]): readonly T[] =>
    items.map((item) => (item.id === id ? { ...item, atUs: Math.max(0, item.atUs + byUs) } : item));
  return {
    ...{ ...plan, faults },
    ...(plan.bucketChanges === undefined ? {} : { bucketChanges: movedIn(plan.bucketChanges) }),
    ...(plan.backups === undefined ? {} : { backups: movedIn(plan.backups) }),
  };
}

interface Timed {
  readonly id: string;
  readonly atUs: number;
}
