/**
 * What a node's store holds, read off the disk as bytes (engine/store/record.ts says how they lie there): the newest
 * record of every key, whatever the node's own directory says. The engine's own records (system keys) are left out.
 * A disk that was hurt is read as far as its checksums hold; what does not match is `damaged`.
 */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey, unpackKey } from '../../engine/base/object-key.ts';
import { manifestName, segmentName } from '../../engine/store/file-names.ts';
import { decodeManifest } from '../../engine/store/manifest.ts';
import {
  groupBodyBytes,
  groupHeadBytes,
  groupHeadIsSound,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordSpan,
  recordToken,
  recordValueBytes,
  recordValueIsSound,
  removalMark,
  segmentHeadBytes,
  segmentIdentity,
} from '../../engine/store/record.ts';
import type { DumpedValue, ReplicaDump } from '../check/convergence.ts';
import type { Cluster } from '../world/cluster.ts';

const directory = 'store';

/** What lies on the disks of everybody who is to be there, now. */
export function dumpStores(cluster: Cluster, atUs: number): readonly ReplicaDump[] {
  return cluster.members.map((node) => {
    return { node, atUs, values: dumpStore(cluster.host(node).disk.durableFiles()) };
  });
}

interface Newest extends DumpedValue {
  readonly seq: number;
  readonly removed: boolean;
}

/** Every object in the store on a disk with these files; by packed key. */
export function dumpStore(files: ReadonlyMap<string, Buffer>): ReadonlyMap<string, DumpedValue> {
  const bytes = files.get(`${directory}/${manifestName}`);
  const newest = new Map<string, Newest>();
  if (bytes === undefined) return newest;
  const { manifest } = decodeManifest(bytes);
  for (const { number, kind } of manifest.segments) {
    const content = files.get(`${directory}/${segmentName(number)}`);
    if (content === undefined) continue;
    readSegment(content, segmentIdentity(manifest.storeId, number, kind).salt, newest);
  }
  return new Map([...newest].filter(([, { removed }]) => !removed));
}

function readSegment(content: Buffer, salt: number, newest: Map<string, Newest>): void {
  let at = segmentHeadBytes;
  while (at + groupHeadBytes <= content.length && groupHeadIsSound(content, at, at, salt)) {
    const end = at + groupHeadBytes + groupBodyBytes(content, at);
    // A batch counts whole or not at all.
    if (end > content.length) return;
    readGroup(content, at + groupHeadBytes, end, salt, newest);
    at = end;
  }
}

function readGroup(
  content: Buffer,
  from: number,
  end: number,
  salt: number,
  newest: Map<string, Newest>,
): void {
  for (
    let at = from;
    at < end && recordHeadIsSound(content, at, end, salt);
    at += recordSpan(content, at, end)
  ) {
    const keyEnd = at + recordHeadBytes + recordKeyBytes(content, at);
    const key = content.toString('latin1', at + recordHeadBytes, keyEnd) as PackedKey;
    const seq = recordSeq(content, at);
    if (isSystemKey(key) || seq <= (newest.get(key)?.seq ?? -1)) continue;
    const removed = recordValueBytes(content, at) === removalMark;
    const value = content.subarray(keyEnd, keyEnd + (removed ? 0 : recordValueBytes(content, at)));
    const damaged = !recordValueIsSound(content, at, end, salt);
    newest.set(key, {
      name: nameOf(key),
      token: recordToken(content, at),
      bytes: damaged ? 'damaged' : value,
      seq,
      removed,
    });
  }
}

/** `bucket/key`, as histories name it. */
function nameOf(key: PackedKey): string {
  const name = unpackKey(key);
  if (name === undefined) return `(${Buffer.from(key, 'latin1').toString('hex')})`;
  return `${textOf(name.bucket)}/${textOf(name.key)}`;
}
