/** What a module may ask of a node at most. The first four are configuration; the others only bound the work of parsing. */
export interface WasmLimits {
  /** Of a module's file, also of one in the text format. */
  readonly moduleBytesMax: number;
  /** Linear memory of one call, a multiple of 64 KiB. */
  readonly memoryBytesMax: number;
  /** Units of fuel of one call: what its instructions cost together (`prices.ts`). */
  readonly fuelMax: number;
  /** Modules registered at once. */
  readonly moduleCountMax: number;
}

export const pageBytes = 65_536;

export const wasmLimitDefaults: WasmLimits = {
  moduleBytesMax: 1024 * 1024,
  memoryBytesMax: 16 * 1024 * 1024,
  /** Of the modules measured for it, all that ran within 10 million when each instruction cost 1; 5 to 50 ms of a thread. */
  fuelMax: 60_000_000,
  moduleCountMax: 256,
};

/**
 * The counts that a module may have of each thing. Each is far above what compilers emit; together they keep the time
 * to parse, compile and instantiate within reach of the module's size.
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
  /** What engines accept (the JavaScript API's implementation limits). */
  functionBytes: 7_654_321,
} as const;

/**
 * What the calls under way in a module may take of the native stack together, by the estimate of `frame-size.ts`. An
 * overflow of the real stack comes at a depth that nobody can foresee; this one comes at the same depth everywhere.
 */
export const stackBytesMax = 384 * 1024;
