/** What a module may use at most on this node; these four are configuration. */
export interface WasmLimits {
  /** Largest module file in bytes, binary or text. */
  readonly moduleBytesMax: number;
  /** Linear memory of one call in bytes, a multiple of 64 KiB. */
  readonly memoryBytesMax: number;
  /** Fuel of one call in units, by the prices of its instructions (`prices.ts`). */
  readonly fuelMax: number;
  /** Most registered modules. */
  readonly moduleCountMax: number;
}

/** Size of a page of linear memory. */
export const pageBytes = 65_536;

/** The limits of the default configuration. */
export const wasmLimitDefaults: WasmLimits = {
  moduleBytesMax: 1024 * 1024,
  memoryBytesMax: 16 * 1024 * 1024,
  /**
   * Of the modules measured, all that ran within 10 million at a price of 1 per instruction; 5 to 50 ms of a thread.
   */
  fuelMax: 60_000_000,
  moduleCountMax: 256,
};

/**
 * Most items of each kind in a module. Each bound is far above what compilers emit; together they keep the time to
 * parse, compile and instantiate in proportion to the module's size.
 */
export const structureMax = {
  types: 10_000,
  parametersOfType: 100,
  functions: 20_000,
  localsOfFunction: 5_000,
  nesting: 4_096,
  labelsOfTable: 20_000,
  tables: 16,
  tableElements: 10_000,
  elementsInitialised: 50_000,
  globals: 1_000,
  exports: 1_000,
  dataSegments: 10_000,
  elementSegments: 1_000,
  nameBytes: 1_000,
  /** The engines' own limit (implementation limits of the JavaScript API). */
  functionBytes: 7_654_321,
} as const;

/**
 * Most native stack of nested calls in a module in bytes, by the estimate of `function-rewriter.ts`. The depth at which the
 * real stack overflows is unpredictable; this limit applies at the same depth everywhere.
 */
export const stackBytesMax = 384 * 1024;
