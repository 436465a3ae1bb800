/**
 * The Wasm module files of a world's simulated operators, and the compiler of Wasm texts (wabt). The caller loads both
 * before the world begins, because loading takes real time.
 */
import type wabt from 'wabt';

/** The loaded compiler. */
export type WatToolkit = Awaited<ReturnType<typeof wabt>>;

/** Module files by name, and the compiler if there is one. */
export interface WasmSupplies {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly toolkit?: WatToolkit;
}

/** No files and no compiler. */
export const noSupplies: WasmSupplies = { files: new Map<string, Uint8Array>([]) };
