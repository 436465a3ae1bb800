/**
 * Reads the records of transactions (engine/transactions/formats) of the nodes' stores from the bytes on their disks.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import type { ByteString } from '../../engine/base/ids.ts';
import { bucketPrefix } from '../../engine/base/object-key.ts';
import { clientBucket } from '../../engine/transactions/formats/idempotency-records.ts';
import { branchBucket, decisionBucket, readBranch } from '../../engine/transactions/formats/records.ts';
import type { BranchLeft, BranchesLeft } from '../check/transactions/transactions.ts';
import type { RecordsKept } from '../check/transactions/remembered.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { newestOf } from './store-dump.ts';

const rememberedPrefixes = [decisionBucket, clientBucket].map((bucket) =>
  bucketPrefix('' as ByteString, bucket),
);
const prefix = bucketPrefix('' as ByteString, branchBucket);

/** The durable branch records of every node that is expected to be present at `atUs` (virtual microseconds). */
export function branchesLeft(cluster: Cluster, atUs: number): readonly BranchesLeft[] {
  return cluster.members.map((node) => {
    return { node, atUs, branches: branchesOn(cluster.host(node).disk.durableFiles()) };
  });
}

/** Decisions and idempotency records on the disks of all members that can be read. */
export function recordsRemembered(cluster: Cluster, atUs: number): readonly RecordsKept[] {
  return cluster.members.map((node) => {
    const records = newestOf(cluster.host(node).disk.durableFiles(), (key) =>
      rememberedPrefixes.some((bucket) => key.startsWith(bucket)),
    );
    const readable = [...records.values()].filter(({ bytes }) => bytes !== 'damaged');
    return { node, atUs, names: readable.map(({ name }) => name) };
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
