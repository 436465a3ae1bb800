/**
 * Wasm modules as MapReduce sees them: the seam between engine/mapreduce, which calls, and the module store of this room,
 * which implements it. Nothing of how modules are kept, compiled, metered or spread is known beyond this file.
 *
 * ABI of the phase role: a module exports `memory`, `phase_alloc(len) -> ptr` and
 * `phase_apply(in_ptr, in_len, out_ptr_ptr, out_len_ptr) -> i32`. Input and output are CBOR arrays of values; a result
 * other than 0 says that the output is a UTF-8 error text. Every call runs on a fresh instance, without imports.
 *
 * One job sees one version of a module: the coordinator takes it once by `find(id)`, and sends its version with the
 * work; whoever runs a phase for it asks by both. A module taken stays usable when it is replaced or deleted meanwhile.
 */

/** One version of a registered module. */
export interface PhaseModule {
  readonly id: string;
  /** Names these bytes and no others: a digest of them, at most 128 characters. */
  readonly version: string;
  /**
   * Runs `phase_apply` over a CBOR array; answers the module's output, which the caller decodes and does not trust. The
   * same input gives the same output, on every machine.
   *
   * Throws (or rejects with) `WasmTrap` for a trap, a pointer out of its memory and a result other than 0 (with the
   * module's text), `WasmOutOfFuel`, `WasmMemoryLimit`. An error leaves nothing behind.
   */
  apply(input: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** The modules that this node holds. */
export interface PhaseModules {
  /** False where the node runs without the wasm feature: jobs with such a phase are refused as `WasmNotImplemented`. */
  readonly enabled: boolean;
  /** The newest version, or just the one that is named; undefined when this node does not hold it. */
  find(id: string, version?: string): PhaseModule | undefined;
  /** The exports that a registered module lacks for a phase: none when it has them all; undefined when none is registered. */
  lacking(id: string): readonly string[] | undefined;
}

/** A node without the wasm feature. */
export const noPhaseModules: PhaseModules = {
  enabled: false,
  find: () => undefined,
  lacking: () => undefined,
};
