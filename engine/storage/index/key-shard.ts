/**
 * One shard of the key directory's table: open addressing with linear probing; each shard grows on its own. An entry
 * holds a row's number and its key's whole hash, so that probing reads no row except the one it finds.
 */

/** The lowest bits of a hash choose the shard; the table uses those above. */
export const shardBits = 6;
const placesMin = 16;

/** The table of one shard. */
export class Shard {
  /** Two numbers per entry: the row's number (0: empty) and the hash. The number of entries is a power of two, or 0. */
  places = new Uint32Array(0);
  used = 0;
}

/** Where probing for a hash begins; the next position is `(at + 2) & (places.length - 2)`. */
export function placeOfHash(places: Uint32Array, hash: number): number {
  return ((hash >>> shardBits) << 1) & (places.length - 2);
}

/** Adds a row that is not in the table. */
export function addPlace(shard: Shard, hash: number, id: number): void {
  // Four fifths full at most: linear probing stays short.
  if ((shard.used + 1) * 5 > shard.places.length * 2) grow(shard);
  enter(shard.places, hash, id);
  shard.used += 1;
}

/** Removes a row and closes the gap, so that every probe sequence stays unbroken. */
export function removePlace(shard: Shard, hash: number, id: number): void {
  const { places } = shard;
  const mask = places.length - 2;
  let gap = placeOfHash(places, hash);
  while (places[gap] !== id) gap = (gap + 2) & mask;
  for (let at = (gap + 2) & mask; places[at] !== 0; at = (at + 2) & mask) {
    const movedHash = places[at + 1] ?? 0;
    if (((at - placeOfHash(places, movedHash)) & mask) < ((at - gap) & mask)) continue;
    places[gap] = places[at] ?? 0;
    places[gap + 1] = movedHash;
    gap = at;
  }
  places[gap] = 0;
  shard.used -= 1;
}

function grow(shard: Shard): void {
  const old = shard.places;
  const grown = new Uint32Array(Math.max(placesMin * 2, old.length * 2));
  for (let at = 0; at < old.length; at += 2) {
    const id = old[at] ?? 0;
    if (id !== 0) enter(grown, old[at + 1] ?? 0, id);
  }
  shard.places = grown;
}

function enter(places: Uint32Array, hash: number, id: number): void {
  let at = placeOfHash(places, hash);
  while (places[at] !== 0) at = (at + 2) & (places.length - 2);
  places[at] = id;
  places[at + 1] = hash;
}
