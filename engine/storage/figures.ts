/** The sizes of a store, for metrics, operators and benchmarks. */

/** Sizes of the segment files. */
export interface CatalogFigures {
  readonly segmentCount: number;
  /** Bytes of all segments, and of the records among them that are their keys' newest. */
  readonly diskBytes: number;
  readonly liveBytes: number;
}

/** Sizes at one moment. */
export interface StoreFigures extends CatalogFigures {
  readonly keyCount: number;
  /** Bytes of memory of the key directory (keys included) and of the value cache. */
  readonly directoryBytes: number;
  readonly cacheBytes: number;
  /** Bytes of writes encoded and not yet answered. */
  readonly pendingBytes: number;
  readonly flushCount: number;
  readonly mergeCount: number;
}
