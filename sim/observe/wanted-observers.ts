/** Which books a plan's invariants need. */
import type { Plan } from '../plan/plan.ts';

/** The ledger's truth about anti-entropy is in the same books. */
export function watchesExchanges(plan: Plan): boolean {
  const { INV11, INV12, INV14 } = plan.floors;
  return wantsObservers(plan) || [INV11, INV12, INV14].some((floor) => floor !== undefined);
}

export function wantsObservers({ floors }: Plan): boolean {
  return floors.INV24 !== undefined || floors.INV26 !== undefined;
}
