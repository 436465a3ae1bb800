/**
 * What a store is told when it is opened. Defaults are for a machine of this decade with one store on it; the world
 * passes small numbers so that rotation and merge happen often.
 */

/**
 * `always`: a write is answered after the sync that covers it. `interval`: a write is answered once the operating
 * system has it, and a sync follows within `intervalUs`; a crash of the machine may lose what was answered since.
 */
export type SyncMode =
  { readonly kind: 'always' } | { readonly kind: 'interval'; readonly intervalUs: number };

export interface MergeOptions {
  /** Background merges run. The command line's `compact` merges regardless. */
  readonly enabled: boolean;
  /** A sealed segment is worth merging when this many percent of its bytes are dead. 1..100. */
  readonly deadPercentMin: number;
  /** Sealed segments smaller than a quarter of `segmentBytes` are joined once there are this many. */
  readonly smallCountMin: number;
  /** Live bytes that one merge copies at most (one segment is always allowed). */
  readonly copyBytesMax: number;
  /** Bytes read between two pauses: the longest stretch that other work waits for. */
  readonly sliceBytes: number;
  /** How long a merge rests after a slice, in percent of the time the slice took (0: not at all). */
  readonly restPercent: number;
}

export interface StoreOptions {
  /** The node that owns the directory; a directory of another node is refused (`StoreForeign`). */
  readonly nodeName: string;
  readonly sync: SyncMode;
  /** A segment is rotated once it has this many bytes; at most 2 GiB. */
  readonly segmentBytes: number;
  /**
   * Zeros are written ahead of the log, up to so many bytes at once (as many as the segment has, if those are fewer),
   * so that most syncs need not make the file longer, which takes file systems about as long again. Only with `always`.
   */
  readonly preallocateBytes: number;
  /** Memory for values that were read lately, or written by batches of 64 KiB at most. 0 switches the cache off. */
  readonly cacheBytes: number;
  /** Encoded bytes of one batch at most; more is refused with `TooLarge`. */
  readonly batchBytesMax: number;
  readonly merge: MergeOptions;
}

export const mergeDefaults: MergeOptions = {
  enabled: true,
  deadPercentMin: 50,
  smallCountMin: 8,
  copyBytesMax: 512 * 1024 * 1024,
  sliceBytes: 128 * 1024,
  restPercent: 100,
};

export const storeDefaults: Omit<StoreOptions, 'nodeName'> = {
  sync: { kind: 'always' },
  segmentBytes: 128 * 1024 * 1024,
  preallocateBytes: 1024 * 1024,
  cacheBytes: 64 * 1024 * 1024,
  batchBytesMax: 64 * 1024 * 1024,
  merge: mergeDefaults,
};
