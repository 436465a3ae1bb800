/**
 * Rejects plans that leave a datacenter without members. Clients and final readers belong to a datacenter and ask its
 * members. If it never has a member, or all may die for good, nothing that was promised can be read back. Members that
 * are only asked to leave are harmless: the cluster refuses to let the last one of a rack leave.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import type { Plan } from './plan.ts';
import type { PlanNode } from './plan-node.ts';

/** Throws `PlanInvalid` if a datacenter has no member from the start, or may lose the last one for good. */
export function mustLeaveMembers({ nodes, faults }: Pick<Plan, 'nodes' | 'faults'>): void {
  const struckBy = (kind: 'permanent-node-loss' | 'membership-change'): ReadonlySet<string> =>
    new Set(faults.filter((fault) => fault.kind === kind).flatMap(({ targets }) => targets));
  const [dying, moving] = [struckBy('permanent-node-loss'), struckBy('membership-change')];
  const replacements = nodes.filter(({ name, replaces }) => replaces !== undefined && moving.has(name));
  const replaced = new Set(replacements.map(({ replaces }) => replaces));
  for (const datacenter of new Set(nodes.map((node) => node.datacenter))) {
    const here = ({ datacenter: its }: PlanNode): boolean => its === datacenter;
    const members = nodes.filter(({ spare }) => spare !== true).filter(here);
    if (members.length === 0) refuse(`plan.nodes: ${datacenter} has spares alone; its clients ask members`);
    const lost = members.filter(({ name }) => dying.has(name) || replaced.has(name));
    const kept = members.filter((node) => !lost.includes(node) && !moving.has(node.name));
    const inPlace = replacements.filter(here).filter(({ name }) => !dying.has(name) && !replaced.has(name));
    if (lost.length === 0 || kept.length + inPlace.length > 0) continue;
    const who = members.every(({ name }) => dying.has(name))
      ? `permanent-node-loss strikes every member of ${datacenter}`
      : `permanent-node-loss and membership-change together may take every member of ${datacenter}`;
    refuse(`plan.faults: ${who}; one at least is to be left, whom clients ask`);
  }
}

function refuse(detail: string): never {
  throw new LockstepError('PlanInvalid', detail);
}
