/**
 * Dumps the contents of a node's store from the bytes on its disk: the newest record of every key, independently of the
 * node's index. System keys of the engine are left out. A damaged disk is read as far as its checksums hold; a record
 * that fails its checksum is `damaged`.
 */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey, unpackKey } from '../../engine/base/object-key.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { DumpedValue, ReplicaDump } from '../check/objects/convergence.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { FlushHistory, isPropertyRecord } from './flush-history.ts';
import type { LogRecord } from './log-records.ts';
import { readRecords, readSealedRecords } from './log-records.ts';
import { segmentsInUse } from './segments-in-use.ts';

const directory = 'store';

/** The stores of all nodes that are expected to be present at `atUs` (virtual microseconds). */
export function dumpStores(cluster: Cluster, atUs: number): readonly ReplicaDump[] {
  return cluster.members.map((node) => {
    const files = cluster.host(node).disk.durableFiles();
    const values = dumpStore(files);
    return { node, atUs, values, flushed: flushedKeysIn(files, values) };
  });
}

/** The keys in the store whose bucket was flushed since, by the property records in the same store. */
function flushedKeysIn(
  files: ReadonlyMap<string, Buffer>,
  values: ReadonlyMap<string, DumpedValue>,
): readonly string[] {
  const flushes = new FlushHistory();
  for (const [key, { bytes }] of newestOf(files, isPropertyRecord))
    if (bytes !== 'damaged') flushes.learn(key, bytes);
  return [...values].filter(([key]) => flushes.isFlushed(key as PackedKey)).map(([, { name }]) => name);
}

interface Newest extends DumpedValue {
  readonly seq: number;
  readonly removed: boolean;
}

/** Every object of the store in these files, by packed key. */
export function dumpStore(files: ReadonlyMap<string, Buffer>): ReadonlyMap<string, DumpedValue> {
  return newestOf(files, (key) => !isSystemKey(key));
}

/** What the store on a disk with these files holds under the wanted keys. */
export function newestOf(
  files: ReadonlyMap<string, Buffer>,
  wanted: (key: PackedKey) => boolean,
): ReadonlyMap<PackedKey, DumpedValue> {
  const newest = new Map<PackedKey, Newest>();
  for (const { content, salt, sealed } of segmentsInUse(files, directory) ?? []) {
    if (content === undefined) continue;
    const take = ({ key, seq, token, value }: LogRecord): void => {
      if (!wanted(key) || seq <= (newest.get(key)?.seq ?? -1)) return;
      const removed = value === undefined;
      newest.set(key, { name: nameOf(key), token, bytes: value ?? 'damaged', seq, removed });
    };
    if (sealed) readSealedRecords(content, salt, take);
    else readRecords(content, segmentHeadBytes, salt, take);
  }
  return new Map([...newest].filter(([, { removed }]) => !removed));
}

/** `bucket/key`, as histories name it. */
export function nameOf(key: PackedKey): string {
  const name = unpackKey(key);
  if (name === undefined) return `(${Buffer.from(key, 'latin1').toString('hex')})`;
  return `${textOf(name.bucket)}/${textOf(name.key)}`;
}
