/**
 * Somebody has to be left. Clients, and those who read after the calm, belong to a datacenter and ask its members: where
 * all of them die for good there is nobody to be asked, and nothing that was promised could be read back.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import type { Plan } from './plan.ts';

/** Throws `PlanInvalid` when FP10 may take every member of a datacenter. */
export function mustLeaveSomebody({ nodes, faults }: Pick<Plan, 'nodes' | 'faults'>): void {
  const dying = new Set(faults.filter(({ kind }) => kind === 'FP10').flatMap(({ targets }) => targets));
  const members = nodes.filter(({ spare }) => spare !== true);
  for (const datacenter of new Set(members.map((node) => node.datacenter))) {
    const left = members.filter((node) => node.datacenter === datacenter && !dying.has(node.name));
    if (left.length > 0) continue;
    const detail = `plan.faults: FP10 strikes every member of ${datacenter}; one at least is to be left, whom clients ask`;
    throw new LockstepError('PlanInvalid', detail);
  }
}
