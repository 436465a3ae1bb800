/**
 * The port for the making of Wasm modules: reads the files that the operator's configuration names, and compiles a
 * module's text (.wat) to its binary form. On a machine the compiler runs in a thread, which is terminated when it
 * takes too long and is not loaded before the first text; in the simulated world it runs as an event.
 *
 * Not promised: that a text which compiles on this machine compiles on every machine in time.
 */

/** The port. */
export interface WasmTools {
  /**
   * Reads a file of at most `bytesMax` bytes; a relative path starts at the configuration's directory. Rejects with
   * `NotFound`, `TooLarge` or `StorageFailed`.
   */
  readFile(path: string, bytesMax: number): Promise<Uint8Array>;
  /**
   * Compiles a module's text. Rejects with `BadRequest`, which names the position, or with `Timeout` after `timeoutUs`.
   */
  compileText(text: string, timeoutUs: number): Promise<Uint8Array>;
}

/** Most characters of a compiler message that are passed on. */
export const watMessageCharsMax = 2000;
