/** Acts out what clients do by their own behaviour (FK1 to FK7). */
import { present } from '../../engine/base/assert.ts';
import type { Load } from '../workload/workload.ts';
import type { ClientFault } from './kinds/client-fault-kinds.ts';
import { clientFaultIds } from './kinds/client-fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';

export type ClientPlanFault = PlanFault & { readonly kind: ClientFault };

export function isClientFault(fault: PlanFault): fault is ClientPlanFault {
  return clientFaultIds.some((kind) => kind === fault.kind);
}

/** False: there was nobody to do it. */
export function injectClientFault(
  { id, kind, targets, params, forUs }: ClientPlanFault,
  load: Load,
): boolean {
  const target = present(targets[0], 'who is aimed at');
  switch (kind) {
    case 'FK1':
    case 'FK2': {
      const impatience = load.impatienceOf(target);
      impatience?.loseIt(Number(params['afterUs']), kind === 'FK1');
      return impatience !== undefined;
    }
    case 'FK7': {
      const doubtful = load.impatienceOf(target);
      doubtful?.doubt(Number(params['count']));
      return doubtful !== undefined;
    }
    case 'FK3':
      return load.crowd(id, Number(params['clients']));
    case 'FK5':
      return load.strange(id, target, params);
    case 'FK6':
      load.keepTo(id, target, Number(params['clients']), forUs);
      return true;
    case 'FK4':
      return load.readSlowly(id, target, Number(params['requests']), Number(params['bytes']), forUs);
  }
}
