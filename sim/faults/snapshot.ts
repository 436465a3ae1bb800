/**
 * Faults of snapshots of hash trees: each alters a node's saved snapshot between two of its incarnations, and records
 * what the next incarnation must make of it (`snapshot-rejection`).
 */
import { snapshotPath } from '../../engine/anti-entropy/snapshot.ts';
import { snapshotVersion } from '../../engine/anti-entropy/snapshot-file.ts';
import { crc32 } from '../../engine/base/checksum.ts';
import type { SnapshotTamper } from '../check/anti-entropy/snapshot-rejection.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { FaultContext } from './fault-context.ts';
import type { Fault } from './fault.ts';
import type { FaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';

/** The rows by name. */
export const snapshotFaults = {
  'snapshot-bit-rot': {
    code: 'FS1',
    description: "a bit of a hash tree's snapshot flips",
    aim: 'node',
    lasting: true,
    params: {
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
    strike: (fault, context) => context.state(snapshotFaultsOf).tamper(fault),
  },
  'snapshot-truncation': {
    code: 'FS2',
    description: 'a snapshot is cut short, emptied or lengthened',
    aim: 'node',
    lasting: true,
    params: {
      to: { kind: 'choice', of: ['shorter', 'nothing', 'longer'] },
      permille: { kind: 'integer', min: 0, max: 999 },
    },
    strike: (fault, context) => context.state(snapshotFaultsOf).tamper(fault),
  },
  'snapshot-version-skew': {
    code: 'FS3',
    description: 'a node finds a snapshot of another version',
    aim: 'node',
    lasting: true,
    params: { by: { kind: 'choice', of: ['-1', '1', '77'] } },
    strike: (fault, context) => context.state(snapshotFaultsOf).tamper(fault),
  },
  'stale-snapshot': {
    code: 'FS4',
    description: 'a node finds an older snapshot of its own',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 100, max: 4_000 } },
    strike: (fault, context) => context.state(snapshotFaultsOf).putBack(fault),
  },
  'foreign-snapshot': {
    code: 'FS5',
    description: "a node finds another node's snapshot",
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.state(snapshotFaultsOf).tamper(fault),
  },
  'leaf-corruption': {
    code: 'FS10',
    description: 'a leaf of a hash tree is altered in memory',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
    strike: (fault, context) => context.state(snapshotFaultsOf).tamper(fault),
  },
} satisfies FaultFamily;

/** The snapshot faults of one run. */
export function snapshotFaultsOf(context: FaultContext): SnapshotFaults {
  return new SnapshotFaults(context);
}

/** Byte offsets in a snapshot (`engine/anti-entropy/snapshot-file.ts`). */
const versionAt = 8;
const segmentsAt = 12;
const storeIdAt = 20;
const nameAt = 36;
const leafBytes = 12;
const crcBytes = 4;

/** What the incarnation that finds these bytes must report; `sound`: nothing. */
type Verdict = SnapshotTamper['verdict'];

/** Injects the snapshot faults of one run and records them. */
export class SnapshotFaults {
  readonly tampers: SnapshotTamper[] = [];
  readonly #context: FaultContext;

  constructor(context: FaultContext) {
    this.#context = context;
  }

  /** Stops the node in order, alters its snapshot while it is down, and starts it again. */
  tamper(fault: Fault): boolean {
    return this.#context.restart(fault, (node) => this.#strike(node, fault));
  }

  /** Copies the node's snapshot now, and puts the copy in the place of a newer one `ageMs` later. */
  putBack(fault: Fault): boolean {
    const kept = this.#keep(targetOf(fault));
    this.#context.later(Number(fault.params['ageMs']) * 1000, `put back ${fault.id}`, () => {
      this.#context.restart(fault, (node) => this.#strike(node, fault, kept));
    });
    return kept !== undefined;
  }

  /** The node's snapshot as it is now, for `stale-snapshot` to put back later; undefined if there is none. */
  #keep(node: string): Buffer | undefined {
    return this.#diskOf(node).durableFiles().get(snapshotPath);
  }

  /**
   * Alters the disk of a node that is down; does nothing if it has no snapshot. `kept` is the earlier result of `keep`.
   */
  #strike(node: string, fault: Fault, kept?: Buffer): void {
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
        const [other = node] = this.#context.others(fault);
        const foreign = this.#diskOf(other).durableFiles().get(snapshotPath);
        if (foreign !== undefined && isOwn(foreign, other)) this.#put(node, foreign, 'BadShape');
        return;
      }
      case 'leaf-corruption': {
        const altered = withAlteredLeaf(bytes, Number(params['permille']));
        if (altered === undefined) return;
        this.#put(node, altered, 'sound');
        this.#context.onAlteredLeaf(node, altered);
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
    this.tampers.push({ node, atUs: this.#context.world.nowUs, verdict });
  }

  #diskOf(node: string): HostDisk {
    return this.#context.cluster.host(node).disk;
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

function resized(bytes: Buffer, params: Fault['params']): Buffer {
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
