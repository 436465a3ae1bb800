/**
 * Alters the saved snapshot of a node's hash tree between two of its incarnations, and records what the next
 * incarnation must make of it (`snapshot-rejection`).
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

/** A plan's fault of a snapshot. */
export type SnapshotFault = PlanFault & { readonly kind: SnapshotFaultKind };

/** Byte offsets in a snapshot (`engine/anti-entropy/snapshot-file.ts`). */
const versionAt = 8;
const segmentsAt = 12;
const storeIdAt = 20;
const nameAt = 36;
const leafBytes = 12;
const crcBytes = 4;

/** Narrows a plan's fault to one of a snapshot. */
export function isSnapshotFault(fault: PlanFault): fault is SnapshotFault {
  return (snapshotFaultNames as readonly FaultKind[]).includes(fault.kind);
}

/** What the incarnation that finds these bytes must report; `sound`: nothing. */
type Verdict = SnapshotTamper['verdict'];

/** Injects the snapshot faults of one run and records them. */
export class SnapshotFaults {
  readonly tampers: SnapshotTamper[] = [];
  readonly #stage: Stage;
  /** Receives a snapshot in which one leaf was altered under a valid checksum. */
  readonly #onAltered: (node: string, bytes: Buffer) => void;

  constructor(stage: Stage, onAltered: (node: string, bytes: Buffer) => void) {
    this.#stage = stage;
    this.#onAltered = onAltered;
  }

  /** The node's snapshot as it is now, for `stale-snapshot` to put back later; undefined if there is none. */
  keep(node: string): Buffer | undefined {
    return this.#diskOf(node).durableFiles().get(snapshotPath);
  }

  /**
   * Alters the disk of a node that is down; does nothing if it has no snapshot. `kept` is the earlier result of `keep`.
   */
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
        // A store that was lost in between has another identity, which makes the old snapshot meaningless.
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

/**
 * Whether `node` itself saved it. A snapshot can be that of another node or version by now, put there by an earlier
 * fault.
 */
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

/** The snapshot with a valid checksum and another format version. */
function ofVersion(bytes: Buffer, by: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.writeUInt32BE(copy.readUInt32BE(versionAt) + by, versionAt);
  return resealed(copy);
}

/** The snapshot with one altered leaf under a valid checksum; undefined if no leaf holds anything. */
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
