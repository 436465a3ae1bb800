/** What happened to the nodes' disks in a run, told by the world: what they lost, and whom they told a lie. */
import type { Loss } from '../check/atlas.ts';
import type { Cluster } from '../world/cluster.ts';
import type { FaultId } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import { roleOf } from './file-roles.ts';

/** Damage to other files costs a start or a reading, and no data. */
const roles: readonly string[] = ['log', 'manifest'];

export class DiskBook {
  readonly losses: Loss[] = [];
  /** Lives whose disk failed an operation or handed out what nobody wrote, as `n1/3`. */
  readonly #troubled = new Set<string>();

  constructor(world: World, cluster: Cluster) {
    for (const name of cluster.names) {
      cluster.host(name).disk.watch({
        writes: () => undefined,
        wrote: () => undefined,
        altered: (node, path, _from, _to, kind) => {
          if (isLoss(path, kind)) this.losses.push({ node, atUs: world.nowUs });
        },
        failed: (node, life, _operation, _path, failure) => {
          if (failure === 'fault' || failure === 'noSpace') this.#troubled.add(`${node}/${life}`);
        },
        handed: (node, life) => this.#troubled.add(`${node}/${life}`),
      });
    }
  }

  isTroubled(node: string, life: number): boolean {
    return this.#troubled.has(`${node}/${life}`);
  }
}

function isLoss(path: string, kind: FaultId): boolean {
  // The own disk comes back as it was.
  if (path === '') return kind !== 'FD14';
  return path.startsWith('store/') && roles.includes(roleOf(path));
}
