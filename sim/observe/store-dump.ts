/**
 * Dumps the contents of a node's store from the bytes on its disk: the newest record of every key, independently of the
 * node's index. System keys of the engine are left out. A damaged disk is read as far as its checksums hold; a record
 * that fails its checksum is `damaged`.
 */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey, unpackKey } from '../../engine/base/object-key.ts';
import { decodeObject, liveSiblings } from '../../engine/replica/object/object.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { DumpedValue, OwnersOf, ReplicaDump } from '../check/objects/convergence.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { FlushHistory, isPropertyRecord } from './flush-history.ts';
import type { LogRecord } from './log-records.ts';
import { readRecords, readSealedRecords } from './log-records.ts';
import { segmentsInUse } from './segments-in-use.ts';

const directory = 'store';

/** Dumps the stores of nodes again and again; a store whose files have not changed since is not read again. */
export class StoreDumps {
  readonly #known = new Map<string, ReadStore>();

  /** The stores of all nodes that are expected to be present at `atUs` (virtual microseconds). */
  take(cluster: Cluster, atUs: number): readonly ReplicaDump[] {
    return cluster.members.map((node) => {
      const files = cluster.host(node).disk.durableFiles();
      const known = this.#known.get(node);
      const read = known !== undefined && isSame(known.files, files) ? known : readStore(files);
      this.#known.set(node, read);
      return { node, atUs, values: read.values, flushed: read.flushed };
    });
  }
}

/** The dumps, with the keys of a damaged disk that its node may have removed. `damaged`: the names of the nodes. */
export function withBuriedKeys(
  dumps: readonly ReplicaDump[],
  damaged: ReadonlySet<string>,
): readonly ReplicaDump[] {
  return dumps.map((dump) => (damaged.has(dump.node) ? { ...dump, buried: buriedKeys(dump) } : dump));
}

/** Per key, the number of its owners whose disks hold a value of it that can be read; counted at the first question. */
export function intactCopies(dumps: readonly ReplicaDump[], ownersOf: OwnersOf): (key: string) => number {
  let counts: Map<string, number> | undefined;
  return (key) => {
    counts ??= countIntact(dumps, ownersOf);
    return counts.get(key) ?? 0;
  };
}

function countIntact(dumps: readonly ReplicaDump[], ownersOf: OwnersOf): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { node, values } of dumps) {
    for (const { name, token, bytes } of values.values()) {
      if (bytes === 'damaged' || !ownersOf(token).includes(node)) continue;
      if (liveSiblings(decodeObject(bytes)).length > 0) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return counts;
}

/** The keys of which only a tombstone is there, and those that were flushed. */
function buriedKeys({ values, flushed = [] }: ReplicaDump): ReadonlySet<string> {
  const buried = [...values].filter(([, { bytes }]) => {
    return bytes !== 'damaged' && liveSiblings(decodeObject(bytes)).length === 0;
  });
  return new Set([...buried.map(([key]) => key), ...flushed]);
}

interface ReadStore extends Pick<ReplicaDump, 'values'> {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly flushed: readonly string[];
}

/** Objects, and property records, which tell whose bucket was flushed since, in one pass over the log. */
function readStore(files: ReadonlyMap<string, Buffer>): ReadStore {
  const all = newestOf(files, (key) => !isSystemKey(key) || isPropertyRecord(key));
  const flushes = new FlushHistory();
  for (const [key, { bytes }] of all)
    if (isPropertyRecord(key) && bytes !== 'damaged') flushes.learn(key, bytes);
  const values = new Map([...all].filter(([key]) => !isSystemKey(key)));
  const flushed = [...values.keys()].filter((key) => flushes.isFlushed(key));
  return { files, values, flushed };
}

function isSame(left: ReadonlyMap<string, Buffer>, right: ReadonlyMap<string, Buffer>): boolean {
  if (left.size !== right.size) return false;
  return [...right].every(([path, content]) => left.get(path)?.equals(content) === true);
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
