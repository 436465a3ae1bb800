/**
 * The scripts that a node has run or loaded, by hash: the latest used ones, bounded in number and in bytes. A parsed
 * script takes some hundred times the memory of its text.
 */
import type { ParsedScript } from './parse.ts';

const countMax = 1000;
/** Bytes of the texts of all scripts. */
const textBytesMax = 1024 * 1024;

/** The cache. */
export class ScriptCache {
  /** The one that was used longest ago first. */
  readonly #scripts = new Map<string, ParsedScript>();
  #textBytes = 0;

  has(hash: string): boolean {
    return this.#scripts.has(hash);
  }

  /** The script, which counts as used now. */
  use(hash: string): ParsedScript | undefined {
    const known = this.#scripts.get(hash);
    if (known === undefined) return undefined;
    this.#scripts.delete(hash);
    this.#scripts.set(hash, known);
    return known;
  }

  /** Adds a script, and forgets others if need be. */
  add(hash: string, script: ParsedScript): void {
    this.#forget(hash);
    this.#scripts.set(hash, script);
    this.#textBytes += script.text.length;
    for (const oldest of this.#scripts.keys()) {
      if (this.#scripts.size <= countMax && this.#textBytes <= textBytesMax) return;
      this.#forget(oldest);
    }
  }

  clear(): void {
    this.#scripts.clear();
    this.#textBytes = 0;
  }

  #forget(hash: string): void {
    this.#textBytes -= this.#scripts.get(hash)?.text.length ?? 0;
    this.#scripts.delete(hash);
  }
}
