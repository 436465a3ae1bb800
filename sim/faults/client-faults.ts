/** Injects the faults that clients cause by their own behaviour. */
import { present } from '../../engine/base/assert.ts';
import type { Load } from '../workload/workload.ts';
import type { ClientFault } from './kinds/client-fault-kinds.ts';
import { clientFaultNames } from './kinds/client-fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';

/** A plan's fault of one of these kinds. */
export type ClientPlanFault = PlanFault & { readonly kind: ClientFault };

/** Narrows a plan's fault to one that clients cause. */
export function isClientFault(fault: PlanFault): fault is ClientPlanFault {
  return clientFaultNames.some((kind) => kind === fault.kind);
}

/** Makes the clients of `load` act out the fault. Returns false if no client can do it. */
export function injectClientFault(
  { id, kind, targets, params, forUs }: ClientPlanFault,
  load: Load,
): boolean {
  const target = present(targets[0], 'who is aimed at');
  switch (kind) {
    case 'immediate-retry':
    case 'client-disconnect': {
      const impatience = load.impatienceOf(target);
      impatience?.loseIt(Number(params['afterUs']), kind === 'immediate-retry');
      return impatience !== undefined;
    }
    case 'late-retry': {
      const doubtful = load.impatienceOf(target);
      doubtful?.doubt(Number(params['count']));
      return doubtful !== undefined;
    }
    case 'hot-key':
      return load.crowd(id, Number(params['clients']));
    case 'unauthorized-request':
      return load.strange(id, target, params);
    case 'sticky-clients':
      load.keepTo(id, target, Number(params['clients']), forUs);
      return true;
    case 'slow-reader':
      return load.readSlowly(id, target, Number(params['requests']), Number(params['bytes']), forUs);
  }
}
