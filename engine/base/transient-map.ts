/**
 * A map of short-lived entries: requests under way, keys being changed. A deleted entry leaves its key behind without a
 * value; once there are many such keys, the remaining entries move into a new Map.
 *
 * A plain Map allocates a new table after every few deletions, and the old table points to the new one. Once such a
 * table has reached the old generation, the scavenger treats everything reachable from it as alive: later tables and
 * all the requests that were under way at the time. It copies them twice (measured on a busy node: four times as many
 * bytes of decoded objects reached the old generation).
 */
export class TransientMap<K, V extends object> {
  #entries = new Map<K, V | undefined>();
  #size = 0;
  readonly #goneKeysMax: number;

  /** `goneKeysMax`: how many keys without a value are tolerated even when hardly any entry is left. */
  constructor(goneKeysMax = 256) {
    this.#goneKeysMax = goneKeysMax;
  }

  /** Number of entries, not counting keys without a value. */
  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.get(key) !== undefined;
  }

  /** Adds an entry. Returns false and changes nothing if the key already has one. */
  add(key: K, value: V): boolean {
    const entries = this.#entries;
    if (entries.get(key) !== undefined) return false;
    this.#size += 1;
    entries.set(key, value);
    return true;
  }

  /** Adds or replaces an entry. */
  set(key: K, value: V): void {
    const entries = this.#entries;
    if (entries.get(key) === undefined) this.#size += 1;
    entries.set(key, value);
  }

  /** Adds an entry for a key that has none now; the caller guarantees it. */
  insert(key: K, value: V): void {
    this.#size += 1;
    this.#entries.set(key, value);
  }

  /** Removes and returns the entry's value; undefined if there is none. */
  delete(key: K): V | undefined {
    const entries = this.#entries;
    const gone = entries.get(key);
    if (gone === undefined) return undefined;
    entries.set(key, undefined);
    this.#size -= 1;
    if (entries.size >= this.#size * sweptShare + this.#goneKeysMax) this.#sweep();
    return gone;
  }

  /** Removes every entry. */
  clear(): void {
    this.#entries = new Map();
    this.#size = 0;
  }

  /** Keys of the entries, in the order of `values`. */
  keys(): K[] {
    return [...this.#entries].filter(([, value]) => value !== undefined).map(([key]) => key);
  }

  /** Values in insertion order; a key that was deleted and set again may keep its old position. */
  values(): V[] {
    return [...this.#entries.values()].filter((value) => value !== undefined);
  }

  #sweep(): void {
    const kept = new Map<K, V | undefined>();
    for (const [key, value] of this.#entries) if (value !== undefined) kept.set(key, value);
    this.#entries = kept;
  }
}

/** A sweep moves at most this part of the keys: the more seldom it comes, the fewer entries are moved per deletion. */
const sweptShare = 4;
