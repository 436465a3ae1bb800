/**
 * Detects a lost store: a data directory whose identity file exists and whose store is gone. A node with peers starts
 * on an empty store and rebuilds it from theirs (`cluster/changes/rebuild.ts`). A node without peers would serve
 * clients as if it had never held anything, so its start is refused.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeConfig } from '../config/config.ts';
import { DiskError } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import { nodeOfIdentity } from '../cluster/membership/identity.ts';
import { readMembers } from '../cluster/membership/member-file.ts';
import type { MemberRecord } from '../cluster/membership/member-record.ts';
import { manifestName, numberOfName, storeDirectory } from '../storage/log/file-names.ts';

/**
 * Checks that the store exists or can be rebuilt. Rejects with `FileMissing` if the store is gone and the node has no
 * peers, or with `StorageFailed`.
 */
export async function mustHaveItsStore(
  io: Pick<Io, 'disk' | 'log'>,
  config: Pick<NodeConfig, 'name' | 'seeds'>,
  { identityPath, membersPath }: { readonly identityPath: string; readonly membersPath: string },
): Promise<void> {
  try {
    const names = await io.disk.list(storeDirectory).catch(nothingWhereNotFound);
    if (names.some((name) => name === manifestName || isLog(name))) return;
    if ((await nodeOfIdentity(io.disk, identityPath)) === undefined) return;
    if (isAlone(config, await readMembers(io.disk, membersPath))) throw storeMissing(config.name);
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the data directory: ${error.message}`, { cause: error });
  }
  const detail = 'this node has had a store and starts on an empty one: it gets back what its peers hold';
  io.log.event('error', 'node.file.missing', { path: storeDirectory, detail });
}

/** Whether neither the configuration nor the remembered members name another node. */
export function isAlone(
  { name, seeds }: Pick<NodeConfig, 'name' | 'seeds'>,
  remembered: readonly MemberRecord[],
): boolean {
  const others = remembered.filter(({ node, left }) => node !== name && !left);
  return others.length === 0 && seeds.every((seed) => seed.node === name);
}

/** Whether `name` is a segment. A hint file alone does not count: without its segment it holds no data. */
function isLog(name: string): boolean {
  return numberOfName(name) !== undefined && name.endsWith('.log');
}

function storeMissing(name: string): LockstepError {
  const detail = `the store is gone (the directory ${storeDirectory} of the data directory), and ${name} has no peers that hold its data: put the directory back, from a backup if need be; to begin anew and empty, remove the whole data directory`;
  return new LockstepError('FileMissing', detail);
}

function nothingWhereNotFound(error: unknown): readonly string[] {
  if (error instanceof DiskError && error.failure === 'notFound') return [];
  throw error;
}
