/**
 * The interface between MapReduce, which calls modules, and this folder, which stores, compiles, meters and spreads
 * them.
 *
 * ABI of the phase role: a module exports `memory`, `phase_alloc(len) -> ptr` and `phase_apply(in_ptr, in_len,
 * out_ptr_ptr, out_len_ptr) -> i32`. Input and output are CBOR arrays of values. A result other than 0 means that the
 * output is a UTF-8 error text. Every call runs on a fresh instance, without imports.
 *
 * One job sees one version of a module. The coordinator takes it once with `find(id)` and sends its version with the
 * work; a replica looks it up by id and version. A module remains usable after it is replaced or deleted.
 */

/** One version of a registered module. */
export interface PhaseModule {
  readonly id: string;
  /** Identifies exactly these bytes: a digest of at most 128 characters. */
  readonly version: string;
  /**
   * Runs `phase_apply` over a CBOR array. Returns the module's output, which the caller decodes and does not trust. The
   * same input gives the same output on every machine.
   *
   * Throws (or rejects with) `WasmTrap` for a trap, a pointer outside its memory or a result other than 0 (with the
   * module's text), `WasmOutOfFuel`, or `WasmMemoryLimit`. A failed call leaves no trace.
   */
  apply(input: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** The modules that this node holds. */
export interface PhaseModules {
  /**
   * False if the node runs without the wasm feature; jobs with Wasm phases are then refused with `WasmNotImplemented`.
   */
  readonly enabled: boolean;
  /** The newest version, or exactly the given one; undefined if this node does not hold it. */
  find(id: string, version?: string): PhaseModule | undefined;
  /** The exports that a registered module lacks for a phase, possibly none; undefined if no module has this id. */
  lacking(id: string): readonly string[] | undefined;
}

/** A node without the wasm feature. */
export const noPhaseModules: PhaseModules = {
  enabled: false,
  find: () => undefined,
  lacking: () => undefined,
};
