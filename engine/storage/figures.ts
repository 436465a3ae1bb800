/** The sizes of a store, for the stats, operators and benchmarks. */

/** Of the files. */
export interface CatalogFigures {
  readonly segmentCount: number;
  /** Bytes of segments, and of them those of records that are their keys' newest. */
  readonly diskBytes: number;
  readonly liveBytes: number;
}

/** Sizes at this moment. */
export interface StoreFigures extends CatalogFigures {
  readonly keyCount: number;
  /** Memory of the key directory (keys included) and of the value cache. */
  readonly directoryBytes: number;
  readonly cacheBytes: number;
  /** Bytes of writes encoded and not yet answered. */
  readonly pendingBytes: number;
  readonly flushCount: number;
  readonly mergeCount: number;
}
