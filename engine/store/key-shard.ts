/**
 * One shard of the key directory: rows of numbers, and an open-addressing table of row indexes with linear probing.
 * It grows on its own. What the fields of a row mean is the directory's business, but for the hash, by which the table
 * is laid out, and one link, by which free rows hang together.
 */

/** Numbers in a row. */
export const rowLength = 15;
export const fieldHash = 0;
export const fieldLink = 9;
/** Lowest bits of a hash, which choose the shard; the table goes by those above. */
export const shardBits = 6;
const rowsMin = 8;

export class Shard {
  rows = new Uint32Array(0);
  /** Row indexes; 0 is empty (row 0 is never used). Its length is a power of two. */
  slots = new Uint32Array(0);
  rowCount = 1;
  freeRow = 0;
  used = 0;
}

/** A row for one more key, and room for it in the table. */
export function takeRow(shard: Shard): number {
  const free = shard.freeRow;
  if (free !== 0) {
    shard.freeRow = shard.rows[free * rowLength + fieldLink] ?? 0;
  } else if ((shard.rowCount + 1) * rowLength > shard.rows.length) {
    const capacity = Math.max(rowsMin, shard.rowCount + (shard.rowCount >>> 1));
    const grown = new Uint32Array((capacity + 1) * rowLength);
    grown.set(shard.rows);
    shard.rows = grown;
  }
  // Four fifths full at most: linear probing stays short.
  if ((shard.used + 1) * 5 > shard.slots.length * 4) growSlots(shard);
  return free !== 0 ? free : shard.rowCount++;
}

function growSlots(shard: Shard): void {
  const slots = new Uint32Array(Math.max(16, shard.slots.length * 2));
  for (const index of shard.slots) {
    if (index !== 0) insertSlot(slots, shard.rows[index * rowLength + fieldHash] ?? 0, index);
  }
  shard.slots = slots;
}

/** Enters a row into a table that has room. */
export function insertSlot(slots: Uint32Array, hash: number, index: number): void {
  const mask = slots.length - 1;
  let slot = (hash >>> shardBits) & mask;
  while (slots[slot] !== 0) slot = (slot + 1) & mask;
  slots[slot] = index;
}

/** Takes a row out of the table and closes the gap, so that every probe still ends where it should. */
export function removeSlot(shard: Shard, hash: number, index: number): void {
  const { slots, rows } = shard;
  const mask = slots.length - 1;
  let gap = (hash >>> shardBits) & mask;
  while (slots[gap] !== index) gap = (gap + 1) & mask;
  for (let slot = (gap + 1) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
    const moved = slots[slot] ?? 0;
    const home = ((rows[moved * rowLength + fieldHash] ?? 0) >>> shardBits) & mask;
    if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
    slots[gap] = moved;
    gap = slot;
  }
  slots[gap] = 0;
}
