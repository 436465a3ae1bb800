/** Creates the cluster that a plan describes. */
import { LockstepError } from '../../engine/base/errors.ts';
import type { Plan } from '../plan/plan.ts';
import { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** A cluster with the plan's settings. Throws `PlanInvalid` for settings that the configuration refuses. */
export function makeCluster(world: World, plan: Plan): Cluster {
  try {
    return new Cluster(world, plan.nodes, plan.settings);
  } catch (cause) {
    if (!(cause instanceof LockstepError) || cause.code !== 'ConfigInvalid') throw cause;
    throw new LockstepError('PlanInvalid', `plan.settings: ${cause.message}`, { cause });
  }
}
