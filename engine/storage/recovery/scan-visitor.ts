/** What a scan of a segment (scan.ts) is given, shows and answers. */
import type { DiskFile } from '../../io/disk.ts';
import type { DamageKind } from './damage.ts';
import { asStoreError } from '../faults.ts';

/** What a scan needs of a file. */
export type ScannedFile = Pick<DiskFile, 'size' | 'readAt'>;

export interface ScanVisitor {
  /** A sound record at `at` of `bytes`, `offset` of the file. The bytes are only good during the call. */
  record(bytes: Buffer, at: number, offset: number): void;
  /** A record whose head and key are sound and whose value is not. */
  lostValue(bytes: Buffer, at: number, offset: number): void;
  /** A place that cannot be read. */
  breach(breach: Breach): void;
  /** A whole group, from `at` to `end` of `bytes`, `offset` of the file; before its records. Good during the call. */
  group?(bytes: Buffer, at: number, end: number, offset: number): void;
}

export interface Breach {
  readonly kind: DamageKind;
  readonly offset: number;
  readonly bytes: number;
  /** The one record lost here, by hash and token; undefined: it is not known which, or how many. `none`: no record. */
  readonly lost: 'none' | { readonly hash: number; readonly token: number } | undefined;
  /** Lost records have sequence numbers at most this; undefined: not known. */
  readonly seqMax: number | undefined;
  /** Only the group's head is lost: what stands behind it says that it must have been this. */
  readonly head?: Buffer;
}

export interface ScanResult {
  /** Where the last group that counts ends. */
  readonly end: number;
  /** Bytes behind `end` that were never answered, up to the last that is not zero. */
  readonly tornBytes: number;
  /** The highest offset that some group calls durable. */
  readonly durableBefore: number;
  readonly groupCount: number;
}

export interface ScanOptions {
  /** The length that counts, for a sealed segment; undefined for the open one. */
  readonly sealedLength: number | undefined;
  /** Called after every `windowBytes` or so; a scan in the background rests here. */
  readonly rest?: () => Promise<void>;
  readonly windowBytes?: number;
  /** Where to begin: the offset of a group. Default: behind the segment's head. */
  readonly from?: number;
}

/** The file, but that what the disk refuses to read is an error and no damage: it may be readable the next time. */
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
