/**
 * Acts out what becomes of the snapshot of a node's hash tree between two of its lives, and keeps what
 * the next life must make of it (`snapshot-rejection`).
 */
import { crc32 } from '../../engine/base/checksum.ts';
import { snapshotPath } from '../../engine/anti-entropy/snapshot.ts';
import { snapshotVersion } from '../../engine/anti-entropy/snapshot-file.ts';
import type { SnapshotTamper } from '../check/snapshot-rejection.ts';
import type { FaultKind } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { SnapshotFaultKind } from './kinds/snapshot-fault-kinds.ts';
import { snapshotFaultNames } from './kinds/snapshot-fault-kinds.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { Stage } from './fault-context.ts';

export type SnapshotFault = PlanFault & { readonly kind: SnapshotFaultKind };

/** Where a snapshot says what (engine/anti-entropy/snapshot-file.ts). */
const versionAt = 8;
const segmentsAt = 12;
const storeIdAt = 20;
const nameAt = 36;
const leafBytes = 12;
const crcBytes = 4;

export function isSnapshotFault(fault: PlanFault): fault is SnapshotFault {
  return (snapshotFaultNames as readonly FaultKind[]).includes(fault.kind);
}

/** What a life that finds these bytes in the place of its snapshot must say; `sound`: nothing at all. */
type Verdict = SnapshotTamper['verdict'];

export class SnapshotFaults {
  readonly tampers: SnapshotTamper[] = [];
  readonly #stage: Stage;
  /** Hears of a snapshot in which one leaf was altered under a sound checksum. */
  readonly #onAltered: (node: string, bytes: Buffer) => void;

  constructor(stage: Stage, onAltered: (node: string, bytes: Buffer) => void) {
    this.#stage = stage;
    this.#onAltered = onAltered;
  }

  /** What `stale-snapshot` will put back later, as it is now. */
  keep(node: string): Buffer | undefined {
    return this.#diskOf(node).durableFiles().get(snapshotPath);
  }

  /** Acts on the disk of a node that is down; nothing when it has no snapshot. `kept`: what `keep` said before. */
  strike(node: string, fault: SnapshotFault, kept?: Buffer): void {
    const disk = this.#diskOf(node);
    const bytes = disk.durableFiles().get(snapshotPath);
    if (bytes === undefined || bytes.length <= nameAt) return;
    const { params } = fault;
    switch (fault.kind) {
      case 'snapshot-bit-rot': {
        const offset = Math.floor((bytes.length * Number(params['permille'])) / 1000);
        if (disk.rot(snapshotPath, offset, Number(params['bit']))) this.#note(node, 'Corrupted');
        return;
      }
      case 'snapshot-truncation':
        return this.#put(node, resized(bytes, params), 'Corrupted');
      case 'snapshot-version-skew':
        return this.#put(node, ofVersion(bytes, Number(params['by'])), 'VersionSkew');
      case 'stale-snapshot':
        // A store that was lost in between has another identity, and its old snapshot no meaning.
        if (kept === undefined || !isOwn(kept, node)) return;
        if (kept.subarray(storeIdAt, nameAt).equals(bytes.subarray(storeIdAt, nameAt))) {
          this.#put(node, kept, 'sound');
        }
        return;
      case 'foreign-snapshot': {
        const [other = node] = this.#stage.others(fault);
        const foreign = this.#diskOf(other).durableFiles().get(snapshotPath);
        if (foreign !== undefined && isOwn(foreign, other)) this.#put(node, foreign, 'BadShape');
        return;
      }
      case 'leaf-corruption': {
        const altered = withAlteredLeaf(bytes, Number(params['permille']));
        if (altered === undefined) return;
        this.#put(node, altered, 'sound');
        this.#onAltered(node, altered);
      }
    }
  }

  #put(node: string, bytes: Buffer, verdict: Verdict): void {
    const disk = this.#diskOf(node);
    const copy = disk.copy();
    disk.restore({ ...copy, files: new Map(copy.files).set(snapshotPath, bytes) });
    this.#note(node, verdict);
  }

  #note(node: string, verdict: Verdict): void {
    this.tampers.push({ node, atUs: this.#stage.world.nowUs, verdict });
  }

  #diskOf(node: string): HostDisk {
    return this.#stage.cluster.host(node).disk;
  }
}

/** What `node` itself saved: it may be down too, and its snapshot another node's or another version's by now. */
function isOwn(bytes: Buffer, node: string): boolean {
  const nameEnd = nameAt + 1 + (bytes[nameAt] ?? 0);
  if (bytes.length < nameEnd + crcBytes || bytes.readUInt32BE(versionAt) !== snapshotVersion) return false;
  const sealed = crc32(bytes.subarray(0, -crcBytes)) === bytes.readUInt32BE(bytes.length - crcBytes);
  return sealed && bytes.subarray(nameAt + 1, nameEnd).toString() === node;
}

function resized(bytes: Buffer, params: PlanFault['params']): Buffer {
  if (params['to'] === 'longer') return Buffer.concat([bytes, Buffer.alloc(1)]);
  if (params['to'] === 'nothing') return Buffer.alloc(0);
  return bytes.subarray(0, Math.floor(((bytes.length - 1) * Number(params['permille'])) / 1000));
}

/** Sound in itself, and of another version of the format. */
function ofVersion(bytes: Buffer, by: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32BE(copy.readUInt32BE(versionAt) + by, versionAt);
  return resealed(copy);
}

/** One of the leaves that hold something holds something else; undefined when none does. */
function withAlteredLeaf(bytes: Buffer, permille: number): Buffer | undefined {
  const mapsAt = nameAt + 1 + (bytes[nameAt] ?? 0) + 8;
  const leavesAt = mapsAt + (2 * bytes.readUInt32BE(segmentsAt)) / 8;
  const leaves = Math.floor((bytes.length - crcBytes - leavesAt) / leafBytes);
  if (leaves <= 0) return undefined;
  const copy = Buffer.from(bytes);
  const at = leavesAt + Math.floor((leaves * permille) / 1000) * leafBytes;
  copy.writeUInt32BE((copy.readUInt32BE(at) ^ 0x10000) >>> 0, at);
  return resealed(copy);
}

function resealed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32(bytes.subarray(0, -crcBytes)), bytes.length - crcBytes);
  return bytes;
}
