/** Decides which observers a run needs, from the invariants of its plan. */
import type { Plan } from '../plan/plan.ts';

/** The exchange observer runs for its own invariants and for the anti-entropy equations of `metrics-reconcile`. */
export function watchesExchanges(plan: Plan): boolean {
  const ofExchanges = ['exchange-soundness', 'repair-soundness', 'stale-snapshot-safety'] as const;
  return wantsObservers(plan) || ofExchanges.some((invariant) => plan.floors[invariant] !== undefined);
}

/** The run observer runs for `metrics-reconcile` and `valid-exposition`. */
export function wantsObservers({ floors }: Plan): boolean {
  return floors['metrics-reconcile'] !== undefined || floors['valid-exposition'] !== undefined;
}
