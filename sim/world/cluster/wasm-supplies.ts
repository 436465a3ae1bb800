/** What the operators of a world have for Wasm modules: files, and a compiler of texts. */
import type wabt from 'wabt';

/** wabt, loaded before the world begins: loading it takes as long as the machine takes. */
export type WatToolkit = Awaited<ReturnType<typeof wabt>>;

export interface WasmSupplies {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly toolkit?: WatToolkit;
}

export const noSupplies: WasmSupplies = { files: new Map<string, Uint8Array>([]) };
