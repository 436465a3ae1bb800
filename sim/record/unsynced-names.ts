/**
 * Follows the files that nodes rename, until the directory is synced. A correct node syncs it at once; what it leaves
 * unsynced for longer, a power loss may undo. It only looks.
 */
import { parentOf } from '../../engine/io/disk.ts';
import type { World } from '../world/world.ts';

/** A rename that is not durable after so long, in microseconds, is no rename under way. */
const patienceUs = 20_000;

/** `lost`: at a crash, each name whose rename was not durable, and when it was renamed. */
export function followUnsyncedNames(
  world: World,
  lost: (host: string, name: string, renamedUs: number) => void,
): void {
  const renamed = new Map<string, Map<string, number>>();
  const of = (host: string): Map<string, number> => {
    const known = renamed.get(host) ?? new Map<string, number>();
    renamed.set(host, known);
    return known;
  };
  world.trace.on('disk.name.renamed', ({ host, atUs, fields }) => {
    of(host).set(String(fields['what']), atUs);
  });
  world.trace.on('disk.directory.synced', ({ host, fields }) => {
    const directory = String(fields['what'] ?? '');
    for (const name of of(host).keys()) if (parentOf(name) === directory) of(host).delete(name);
  });
  world.trace.on('host.crashed', ({ host, atUs }) => {
    for (const [name, renamedUs] of of(host)) if (atUs - renamedUs > patienceUs) lost(host, name, renamedUs);
    of(host).clear();
  });
}
