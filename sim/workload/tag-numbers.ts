/**
 * Assigns numbers to runs of bytes: 0, 1, 2, … in the order of their first occurrence; equal bytes have one number. It
 * creates neither strings nor Set entries, because there is one run for every copy of every write.
 */
const firstPlaces = 1024;
const firstBytes = 16 * 1024;

/** One such numbering; it only grows. */
export class TagNumbers {
  /** Open addressing: a number plus one, or 0 for a free place; at most half of the places are taken. */
  #places = new Int32Array(firstPlaces);
  #bytes = new Uint8Array(firstBytes);
  /** By number: the hash of its bytes. */
  readonly #hashes: number[] = [];
  /** By number: where its bytes end and those of the next begin. */
  readonly #ends: number[] = [];

  /** The number of the bytes `from..to - 1`; a new one if they are new. */
  of(bytes: Uint8Array, from: number, to: number): number {
    const hash = hashOf(bytes, from, to);
    const place = this.#placeOf(hash, bytes, from, to);
    const known = (this.#places[place] ?? 0) - 1;
    if (known >= 0) return known;
    const number = this.#ends.length;
    this.#places[place] = number + 1;
    this.#hashes.push(hash);
    this.#keep(bytes, from, to);
    if (this.#ends.length * 2 > this.#places.length) this.#grow();
    return number;
  }

  /** The number of all of `bytes`, or -1 if they have none. */
  find(bytes: Uint8Array): number {
    const place = this.#placeOf(hashOf(bytes, 0, bytes.length), bytes, 0, bytes.length);
    return (this.#places[place] ?? 0) - 1;
  }

  /** The place that holds the bytes, or the free place for them. */
  #placeOf(hash: number, bytes: Uint8Array, from: number, to: number): number {
    const mask = this.#places.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = (this.#places[place] ?? 0) - 1;
      if (number < 0) return place;
      if (this.#hashes[number] === hash && this.#isAt(number, bytes, from, to)) return place;
    }
  }

  #isAt(number: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = this.#ends[number - 1] ?? 0;
    if ((this.#ends[number] ?? 0) - start !== to - from) return false;
    for (let at = from; at < to; at++) if (this.#bytes[start + at - from] !== bytes[at]) return false;
    return true;
  }

  #keep(bytes: Uint8Array, from: number, to: number): void {
    const start = this.#ends.at(-1) ?? 0;
    const end = start + to - from;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    for (let at = from; at < to; at++) this.#bytes[start + at - from] = bytes[at] ?? 0;
    this.#ends.push(end);
  }

  #grow(): void {
    const places = new Int32Array(this.#places.length * 2);
    this.#hashes.forEach((hash, number) => {
      let place = hash & (places.length - 1);
      while (places[place] !== 0) place = (place + 1) & (places.length - 1);
      places[place] = number + 1;
    });
    this.#places = places;
  }
}

/** FNV-1a with its upper half folded in, because the lower bits choose the place. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash ^ (hash >>> 15);
}
