/** Which books a plan's invariants need. */
import type { Plan } from '../plan/plan.ts';

/** The ledger's truth about anti-entropy is in the same books. */
export function watchesExchanges(plan: Plan): boolean {
  const ofExchanges = ['exchange-soundness', 'repair-soundness', 'stale-snapshot-safety'] as const;
  return wantsObservers(plan) || ofExchanges.some((invariant) => plan.floors[invariant] !== undefined);
}

export function wantsObservers({ floors }: Plan): boolean {
  return floors['metrics-reconcile'] !== undefined || floors['valid-exposition'] !== undefined;
}
