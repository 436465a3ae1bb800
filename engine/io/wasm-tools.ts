/**
 * The door to what Wasm modules are made from: files that the operator's configuration names, and the compiler that turns
 * a module's text (.wat) into its binary form. On the machine the compiler runs in a thread of its own, which is ended
 * when it takes too long, and is not even loaded before the first text comes; in the world it runs as an event.
 *
 * Not promised: that a text which compiles here compiles on every machine within its time.
 */

export interface WasmTools {
  /**
   * The bytes of a file, at most `bytesMax`; a relative path is of the configuration's directory. Rejects with
   * `NotFound`, `TooLarge` or `StorageFailed`.
   */
  readFile(path: string, bytesMax: number): Promise<Uint8Array>;
  /** The binary form of a module's text. Rejects with `BadRequest` (it says where), or `Timeout` after `timeoutUs`. */
  compileText(text: string, timeoutUs: number): Promise<Uint8Array>;
}

/** Of a message about a text, so many characters are passed on. */
export const watMessageCharsMax = 2000;
