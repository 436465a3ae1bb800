/**
 * What the modules that inject faults share: the world, the cluster, and how a fault is undone later or at the calm.
 */
import type { PlanFault } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Lasting, World } from '../world/world.ts';

/** The run as the modules that inject faults see it. `Faults` implements it. */
export interface Stage {
  readonly world: World;
  readonly cluster: Cluster;
  /** Calls `act` after `delayUs` microseconds, unless the calm comes first. */
  later(delayUs: number, label: string, act: () => void): void;
  /** Lifts the fault's effects after its `forUs`. At the calm the network lifts all effects itself. */
  last(fault: PlanFault, ...lasting: readonly Lasting[]): void;
  /** The nodes that the fault does not aim at. */
  others(fault: PlanFault): readonly string[];
}
