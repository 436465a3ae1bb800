/**
 * Reads the branch records (engine/transactions/formats/records.ts) of the nodes' stores from the bytes on their disks.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { bucketPrefix } from '../../engine/base/object-key.ts';
import { branchBucket, readBranch } from '../../engine/transactions/formats/records.ts';
import type { BranchLeft, BranchesLeft } from '../check/transactions/transactions.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { newestOf } from './store-dump.ts';

const prefix = bucketPrefix('' as ByteString, branchBucket);

/** The durable branch records of every node that is expected to be present at `atUs` (virtual microseconds). */
export function branchesLeft(cluster: Cluster, atUs: number): readonly BranchesLeft[] {
  return cluster.members.map((node) => {
    return { node, atUs, branches: branchesOn(cluster.host(node).disk.durableFiles()) };
  });
}

/** Every record of a branch in the store on a disk with these files. */
export function branchesOn(files: ReadonlyMap<string, Buffer>): readonly BranchLeft[] {
  const records = newestOf(files, (key) => key.startsWith(prefix));
  return [...records].map(([key, { bytes }]) => ({ xid: key.slice(prefix.length), state: stateIn(bytes) }));
}

function stateIn(bytes: Uint8Array | 'damaged'): BranchLeft['state'] {
  if (bytes === 'damaged') return bytes;
  try {
    return readBranch(bytes).state;
  } catch (error) {
    if (error instanceof BytesError) return 'damaged';
    throw error;
  }
}
