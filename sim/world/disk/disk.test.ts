/** The laws of the disk port in the world. */
import { diskContract } from '../../../engine/io/disk.contract.ts';
import type { DiskHarness, Unsynced } from '../../../engine/io/disk-harness.fixture.ts';
import type { Survival } from '../cluster/host.ts';
import { worldHarness } from '../core/world-harness.fixture.ts';
import { World } from '../world.ts';

const survivals: Readonly<Record<Unsynced, Survival>> = { lost: 'dropAll', kept: 'keepAll', torn: 'subset' };

diskContract('world', makeHarness);

async function makeHarness(seed: number): Promise<DiskHarness> {
  const world = new World({ seed });
  const host = world.addHost('n1');
  // The clock is another host's: a law waits for a crash that its own host does not survive.
  const watch = world.addHost('watch').boot();
  const { disk } = host.boot();
  return {
    ...worldHarness(world, watch.clock),
    disk,
    dieHolding: async (lockPath) => {
      await disk.lock(lockPath);
      host.crash('keepAll');
      return host.boot().disk;
    },
    faults: {
      crash: (unsynced) => {
        host.crash(survivals[unsynced]);
        return Promise.resolve(host.boot().disk);
      },
      failNextSync: (path) => void host.disk.inject({ kind: 'sync-error', pathPrefix: path, count: 1 }),
      failNextWrite: (path, failure) =>
        void host.disk.inject({ kind: 'write-error', pathPrefix: path, count: 1, failure }),
      limitTransfers: (bytesMax) => host.disk.limitTransfers(bytesMax),
    },
  };
}
