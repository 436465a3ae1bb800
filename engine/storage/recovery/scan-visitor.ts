/** The input and output types of a segment scan (`scan.ts`). */
import type { DiskFile } from '../../io/disk.ts';
import type { DamageKind } from './damage.ts';
import { asStoreError } from '../faults.ts';

/** What a scan needs of a file. */
export type ScannedFile = Pick<DiskFile, 'size' | 'readAt'>;

/** Receives what a scan finds, in the order of the file. */
export interface ScanVisitor {
  /** A sound record at `at` of `bytes`, at `offset` of the file. The bytes are valid during the call only. */
  record(bytes: Buffer, at: number, offset: number): void;
  /** A record with a sound head and key and an unsound value. */
  lostValue(bytes: Buffer, at: number, offset: number): void;
  /** A place that cannot be read. */
  breach(breach: Breach): void;
  /**
   * A whole group, from `at` to `end` of `bytes`, at `offset` of the file; called before its records. Valid during the
   * call.
   */
  group?(bytes: Buffer, at: number, end: number, offset: number): void;
}

/** A place of a segment that cannot be read. */
export interface Breach {
  readonly kind: DamageKind;
  readonly offset: number;
  readonly bytes: number;
  /** The one record lost here, by hash and token; undefined: unknown which, or how many. `none`: no record. */
  readonly lost: 'none' | { readonly hash: number; readonly token: number } | undefined;
  /** Lost records have at most this sequence number; undefined: unknown. */
  readonly seqMax: number | undefined;
  /** If only the group's head is lost: the head, recomputed from the records behind it. */
  readonly head?: Buffer;
}

/** The result of a scan. */
export interface ScanResult {
  /** Where the last group that counts ends. */
  readonly end: number;
  /** Bytes behind `end` that were never answered, up to the last one that is not zero. */
  readonly tornBytes: number;
  /** The highest offset that some group calls durable. */
  readonly durableBefore: number;
  readonly groupCount: number;
}

/** Options of a scan. */
export interface ScanOptions {
  /** The length that counts, for a sealed segment; undefined for the open one. */
  readonly sealedLength: number | undefined;
  /** Called after about every `windowBytes`; a background scan rests here. */
  readonly rest?: () => Promise<void>;
  readonly windowBytes?: number;
  /** Where to begin: the offset of a group. Default: behind the segment's head. */
  readonly from?: number;
}

/** The file, with failed reads as `StorageFailed` instead of damage: they may succeed the next time. */
export function strict(file: DiskFile): ScannedFile {
  return {
    size: () => file.size(),
    readAt: async (into, offset) => {
      try {
        return await file.readAt(into, offset);
      } catch (error) {
        throw asStoreError(error, 'the store cannot read');
      }
    },
  };
}
