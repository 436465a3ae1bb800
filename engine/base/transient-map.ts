/**
 * A map of what comes and goes: requests under way, keys that are being changed. What is deleted leaves its key behind,
 * without its value; when there are many such keys the rest moves into a new Map.
 *
 * A Map itself makes a new table after every few deletions, and the old one leads to the new one. Once such a table has
 * grown old, everything younger that hangs at it (the tables after it, with all that was under way when they were left)
 * counts as alive for the collector of young garbage and is moved twice (measured: of a busy node's decoded objects,
 * four times as many bytes grew old).
 */
export class TransientMap<K, V extends object> {
  #entries = new Map<K, V | undefined>();
  #size = 0;

  /** Entries that are there. */
  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.get(key) !== undefined;
  }

  /** False, and nothing is done, when there is one already. */
  add(key: K, value: V): boolean {
    const entries = this.#entries;
    if (entries.get(key) !== undefined) return false;
    this.#size += 1;
    entries.set(key, value);
    return true;
  }

  set(key: K, value: V): void {
    const entries = this.#entries;
    if (entries.get(key) === undefined) this.#size += 1;
    entries.set(key, value);
  }

  /** The same of a key that has no entry now. */
  insert(key: K, value: V): void {
    this.#size += 1;
    this.#entries.set(key, value);
  }

  /** What was there; nothing is done when nothing was. */
  delete(key: K): V | undefined {
    const entries = this.#entries;
    const gone = entries.get(key);
    if (gone === undefined) return undefined;
    entries.set(key, undefined);
    this.#size -= 1;
    if (entries.size >= this.#size * 2 + goneKeysMax) this.#sweep();
    return gone;
  }

  clear(): void {
    this.#entries = new Map();
    this.#size = 0;
  }

  keys(): K[] {
    return [...this.#entries].filter(([, value]) => value !== undefined).map(([key]) => key);
  }

  /** What is there, in the order in which its keys came first since they were last swept away. */
  values(): V[] {
    return [...this.#entries.values()].filter((value) => value !== undefined);
  }

  #sweep(): void {
    const kept = new Map<K, V | undefined>();
    for (const [key, value] of this.#entries) if (value !== undefined) kept.set(key, value);
    this.#entries = kept;
  }
}

/** Keys without a value, when hardly any has one. */
const goneKeysMax = 256;
