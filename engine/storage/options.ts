/**
 * The options with which a store is opened. The defaults are for a machine with one store on it; the simulator passes
 * small numbers, so that rotations and merges are frequent.
 */

/**
 * When a write is answered. `always`: after the sync that covers it. `interval`: once the operating system has it; a
 * sync follows within `intervalUs`, and a crash of the machine may lose what was answered since the last one.
 */
export type SyncMode =
  { readonly kind: 'always' } | { readonly kind: 'interval'; readonly intervalUs: number };

/** Options of background merges. */
export interface MergeOptions {
  /** Whether background merges run. The command line's `compact` merges regardless. */
  readonly enabled: boolean;
  /** A sealed segment is merged once this many percent of its bytes are dead. 1 to 100. */
  readonly deadPercentMin: number;
  /** Sealed segments smaller than a quarter of `segmentBytes` are joined once there are this many. */
  readonly smallCountMin: number;
  /** Limit of the live bytes that one merge copies (one segment is always allowed). */
  readonly copyBytesMax: number;
  /** Bytes read between two pauses: the longest stretch for which other work waits. */
  readonly sliceBytes: number;
  /** Rest after a slice, in percent of the time that the slice took; 0: none. */
  readonly restPercent: number;
}

/** Options of one store. */
export interface StoreOptions {
  /** The node that owns the directory; a directory of another node is refused (`StoreForeign`). */
  readonly nodeName: string;
  readonly sync: SyncMode;
  /** A segment is rotated once it has this many bytes; at most 2 GiB. */
  readonly segmentBytes: number;
  /**
   * Zeros are written ahead of the log, at most this many bytes at once (at most as many as the segment has). Most
   * syncs then need not extend the file, which takes file systems about as long again. Only with `always`.
   */
  readonly preallocateBytes: number;
  /** Bytes of memory for values that were read lately, or written by batches of at most 64 KiB. 0: no cache. */
  readonly cacheBytes: number;
  /** Limit of the encoded bytes of one batch; a larger one is refused with `TooLarge`. */
  readonly batchBytesMax: number;
  readonly merge: MergeOptions;
}

/** Merge options of a node. */
export const mergeDefaults: MergeOptions = {
  enabled: true,
  deadPercentMin: 50,
  smallCountMin: 8,
  copyBytesMax: 512 * 1024 * 1024,
  sliceBytes: 128 * 1024,
  restPercent: 100,
};

/** Options of a node's store, without its name. */
export const storeDefaults: Omit<StoreOptions, 'nodeName'> = {
  sync: { kind: 'always' },
  segmentBytes: 128 * 1024 * 1024,
  preallocateBytes: 1024 * 1024,
  cacheBytes: 64 * 1024 * 1024,
  batchBytesMax: 64 * 1024 * 1024,
  merge: mergeDefaults,
};
