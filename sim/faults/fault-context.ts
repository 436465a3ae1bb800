/** What the parts that act out faults share: the world, the cluster, and a way to undo things later, or at the calm. */
import type { PlanFault } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Lasting, World } from '../world/world.ts';

export interface Stage {
  readonly world: World;
  readonly cluster: Cluster;
  /** Calls `act` so much later, unless the calm comes first. */
  later(delayUs: number, label: string, act: () => void): void;
  /** Lifts what a fault began once its time is over; at the calm, the network lifts everything by itself. */
  last(fault: PlanFault, ...lasting: readonly Lasting[]): void;
  /** The nodes that a fault does not aim at. */
  others(fault: PlanFault): readonly string[];
}
