/**
 * Takes a backup: the cut of the cluster (`cut-protocol.ts`), then the bytes of its segments, at a bounded pace, while
 * the cluster serves clients. A segment that an earlier backup has is not copied again.
 */
import { LockstepError } from '../base/errors.ts';
import { sleep } from '../io/clock.ts';
import type { Clock } from '../io/clock.ts';
import type { CutOptions, NodeCut } from './cut-protocol.ts';
import { cutDefaults, takeCut } from './cut-protocol.ts';
import type { BackupManifest, NodeBackup, StoredSegment } from './manifest.ts';
import type { BackupNode, SegmentFacts } from './messages.ts';
import { chunkBytesMax } from './messages.ts';
import type { BackupRepository } from './repository.ts';

/** How fast segments are copied, from each node. */
export interface CopyPace {
  /** The upper limit. */
  readonly bytesPerSecond: number;
  /**
   * The share of the time in which the copy may wait for the node's bytes. A busy node answers later, so the copy asks
   * it less often, and leaves it to clients. 1: the copy keeps its pace whatever the node does.
   */
  readonly askingShare: number;
}

/** How a backup is taken. */
export interface BackupOptions {
  readonly cut: CutOptions;
  readonly pace: CopyPace;
  /** Called with the bytes copied, those shared with earlier backups, and those of the whole backup. */
  readonly progress: (copied: number, shared: number, all: number) => void;
}

/** The longest pause: after a node was paused, the copy goes on as fast as before. */
const restUsMax = 2_000_000;

/** The defaults of `lockstep backup`. */
export const backupDefaults: BackupOptions = {
  cut: cutDefaults,
  pace: { bytesPerSecond: 16 * 1024 * 1024, askingShare: 0.05 },
  progress: () => undefined,
};

/** What was done. */
export interface BackupReport {
  readonly manifest: Omit<BackupManifest, 'format'>;
  readonly copiedBytes: number;
  readonly sharedBytes: number;
}

/**
 * Takes a backup of the cluster of these nodes, under a new id; ids sort by time. The caller holds the repository's lock.
 * Rejects as `takeCut` does, and if a node restarts, or a disk fails, before all of its segments are copied: then no
 * backup exists, and the segments that were copied serve the next attempt.
 */
export async function takeBackup(
  nodes: readonly BackupNode[],
  repository: BackupRepository,
  id: string,
  clock: Clock,
  options: BackupOptions = backupDefaults,
): Promise<BackupReport> {
  const known = await knownSegments(repository);
  const cut = await takeCut(nodes, id, clock, options.cut);
  const all = cut.nodes.flatMap(({ segments }) => segments).reduce((sum, { bytes }) => sum + bytes, 0);
  const counts = { copied: 0, shared: 0 };
  try {
    const copied = cut.nodes.map(async (node): Promise<NodeBackup> => {
      const segments: StoredSegment[] = [];
      for (const segment of node.segments) {
        const shared = known.get(nameOf(node.store_id, segment));
        if (shared !== undefined && (await repository.has({ sha256: shared, bytes: segment.bytes }))) {
          segments.push({ ...segment, sha256: shared });
          counts.shared += segment.bytes;
        } else {
          const part = `${cut.id}-${node.at.node}-${segment.number}`;
          const source = paced(node, cut.id, segment, clock, options.pace);
          const { sha256, bytes } = await repository.store(part, source);
          if (bytes !== segment.bytes)
            throw new LockstepError(
              'Corrupted',
              `${node.at.node} sent ${bytes} of ${segment.bytes} bytes of segment ${segment.number}`,
            );
          segments.push({ ...segment, sha256 });
          counts.copied += bytes;
        }
        options.progress(counts.copied, counts.shared, all);
      }
      const { node: name, datacenter, rack } = node.at;
      const { store_id, created_ms, transactions } = node;
      return { node: name, datacenter, rack, store_id, created_ms, segments, transactions };
    });
    const settled = await Promise.allSettled(copied);
    const parts = settled.map((one) => {
      if (one.status === 'rejected') throw one.reason;
      return one.value;
    });
    const manifest = {
      id,
      cluster_id: cut.clusterId,
      taken_ms: cut.takenMs,
      held_us: cut.heldUs,
      view: cut.view,
      without: cut.without,
      nodes: parts,
    };
    await repository.commit(manifest);
    return { manifest, copiedBytes: counts.copied, sharedBytes: counts.shared };
  } finally {
    // A node that does not answer releases its pins by itself.
    await Promise.allSettled(nodes.map((node) => node.end(cut.id)));
  }
}

/** Sealed segments never change, so one of the same store, number, length and records is the same. */
function nameOf(
  storeId: string,
  { number, bytes, sealed, seq_min: min, seq_max: max }: SegmentFacts,
): string {
  return sealed ? [storeId, number, bytes, min, max].join(' ') : '';
}

/** The SHA-256 of each sealed segment that some backup holds. A backup whose manifest is damaged shares nothing. */
async function knownSegments(repository: BackupRepository): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  for (const id of await repository.ids()) {
    try {
      for (const node of (await repository.manifest(id)).nodes)
        for (const segment of node.segments)
          if (segment.sealed) known.set(nameOf(node.store_id, segment), segment.sha256);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
    }
  }
  return known;
}

async function* paced(
  { from }: NodeCut,
  id: string,
  { number, bytes }: SegmentFacts,
  clock: Clock,
  pace: CopyPace,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes;) {
    const beganUs = clock.nowUs();
    const chunk = await from.read(id, number, at, Math.min(chunkBytesMax, bytes - at));
    const askedUs = clock.nowUs() - beganUs;
    if (chunk.length === 0) return;
    yield chunk;
    at += chunk.length;
    const leftUs = intervalUs(askedUs, chunk.length, pace) - (clock.nowUs() - beganUs);
    if (leftUs > 0) await sleep(clock, leftUs);
  }
}

/** Microseconds from one question to the next, if the node answered with `bytes` bytes after `askedUs`. */
export function intervalUs(
  askedUs: number,
  bytes: number,
  { bytesPerSecond, askingShare }: CopyPace,
): number {
  const restUs = Math.min(askedUs / askingShare, askedUs + restUsMax);
  return Math.ceil(Math.max((bytes * 1_000_000) / bytesPerSecond, restUs));
}
