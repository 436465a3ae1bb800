/** What operators of a world have for Wasm modules: files, and a compiler of texts. */
import type wabt from 'wabt';

/** wabt, loaded before the world begins, because loading takes real time. */
export type WatToolkit = Awaited<ReturnType<typeof wabt>>;

/** Module files by name, and the compiler if there is one. */
export interface WasmSupplies {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly toolkit?: WatToolkit;
}

/** No files and no compiler. */
export const noSupplies: WasmSupplies = { files: new Map<string, Uint8Array>([]) };
