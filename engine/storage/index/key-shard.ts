/**
 * One shard of the key directory's table: an open-addressing table with linear probing, which grows on its own. Each
 * place holds a row's number and its key's whole hash, so that a walk over places looks at no row but the one it finds.
 */

/** Lowest bits of a hash, which choose the shard; the table goes by those above. */
export const shardBits = 6;
const placesMin = 16;

export class Shard {
  /** Two numbers a place: the row's number (0: empty) and the hash. Places are a power of two, or none. */
  places = new Uint32Array(0);
  used = 0;
}

/** Where the walk for a hash begins; the next one is `(at + 2) & (places.length - 2)`. */
export function placeOfHash(places: Uint32Array, hash: number): number {
  return ((hash >>> shardBits) << 1) & (places.length - 2);
}

/** Enters a row that is not there yet. */
export function addPlace(shard: Shard, hash: number, id: number): void {
  // Four fifths full at most: linear probing stays short.
  if ((shard.used + 1) * 5 > shard.places.length * 2) grow(shard);
  enter(shard.places, hash, id);
  shard.used += 1;
}

/** Takes a row out of the table and closes the gap, so that every walk still ends where it should. */
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
