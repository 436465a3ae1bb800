/**
 * The key directory (Bitcask's "keydir"): where the newest record of each key is. It has no object per key. It consists
 * of rows of 32-bit numbers in pages (`key-rows.ts`), an open-addressing table in 64 shards, each of which grows on its
 * own so that growth never stops the node for long (`key-shard.ts`), and the keys' bytes in an arena.
 *
 * A key's id is the number of its row, valid until the key is removed. Every key is in two doubly linked lists, which
 * iteration walks: that of its token's arc (the upper 12 bits of the token) and that of its bucket (12 bits of the
 * bucket's hash).
 *
 * Invariants: a key is in the directory at most once, with its highest sequence number. A new key is linked at the
 * front of its lists, so a walk never meets keys added after it began. A removal moves a walk that stands at the
 * removed key on.
 */
import { assert } from '../../base/assert.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { isSystemByte, prefixBytesOf } from '../../base/object-key.ts';
import { viewOf } from '../../base/views.ts';
import { KeyArena } from './key-arena.ts';
import { copyKey, hashKey, putKey } from './key-hash.ts';
import { fieldLink, KeyRows, placeOf } from './key-rows.ts';
import { addPlace, placeOfHash, removePlace, Shard } from './key-shard.ts';

/** Fields of a row. */
const fieldKey = 0;
const fieldSegment = 1;
const fieldOffset = 2;
const fieldSize = 3;
const fieldToken = 4;
const fieldSeqHigh = 5;
const fieldSeqLow = 6;
const fieldCache = 7;
/** Links of the two lists; the field after each is the link back. */
const fieldArcNext = fieldLink;
const fieldBucketNext = 10;
/** The value's fingerprint (`fingerprints.ts`); both 0: none. */
const fieldMarkHigh = 12;
const fieldMarkLow = 13;

const shardCount = 64;
const listCount = 4096;
const listBits = 12;
/** Tokens in an arc. */
const arcTokens = 1 << (32 - listBits);

/** Value sizes that mark a row's state; real sizes are below 2^31. */
const removedSize = 0xffffffff;
const damagedBit = 0x80000000;

/** State of a row. `removed`: only during recovery, so that older records of the key stay dead. */
export type RowState = 'live' | 'removed' | 'damaged';

class Walk {
  next: number;
  readonly field: number;

  constructor(next: number, field: number) {
    this.next = next;
    this.field = field;
  }
}

/** The key directory of one store. */
export class KeyDirectory {
  readonly #hashSeed: number;
  readonly #arena = new KeyArena();
  readonly #rows = new KeyRows();
  readonly #shards: Shard[] = Array.from({ length: shardCount }, () => new Shard());
  readonly #arcs = new Uint32Array(listCount);
  readonly #buckets = new Uint32Array(listCount);
  /** Keys in each list of `#buckets`. */
  readonly #bucketSizes = new Uint32Array(listCount);
  readonly #walks = new Set<Walk>();
  /** Buffer for the key of the present lookup, and a view of it. */
  #scratch = Buffer.alloc(256);
  #scratchView = viewOf(this.#scratch);
  #size = 0;

  constructor(hashSeed: number) {
    this.#hashSeed = hashSeed;
  }

  /** Keys in the directory, of all states. */
  get size(): number {
    return this.#size;
  }

  /** Bytes of memory used, keys included. */
  get bytes(): number {
    let bytes = this.#arena.bytes + this.#arcs.byteLength + 2 * this.#buckets.byteLength;
    for (const shard of this.#shards) bytes += shard.places.byteLength;
    return bytes + this.#rows.bytes;
  }

  /** The key's id, or 0. */
  find(key: PackedKey): number {
    const hash = this.#stage(key);
    return this.findHashed(hash, this.#scratchView, 0, key.length);
  }

  /** The id of the key whose bytes are given, or 0. */
  findBytes(bytes: Uint8Array, from: number, length: number): number {
    if (length > this.#scratch.length) this.#growScratch(length);
    const hash = copyKey(bytes, from, length, this.#scratch, this.#hashSeed);
    return this.findHashed(hash, this.#scratchView, 0, length);
  }

  /** As `findBytes`, for a key whose hash is known, through a view of the bytes. */
  findHashed(hash: number, view: DataView, from: number, length: number): number {
    const { places } = this.#shard(hash);
    const mask = places.length - 2;
    if (mask < 0) return 0;
    for (let at = placeOfHash(places, hash); ; at = (at + 2) & mask) {
      const id = places[at] ?? 0;
      if (id === 0) return 0;
      if (((places[at + 1] ?? 0) | 0) !== hash) continue;
      if (this.#arena.equals(this.#field(id, fieldKey), view, from, length)) return id;
    }
  }

  /** The key's hash. */
  hashOf(key: PackedKey): number {
    return this.#stage(key);
  }

  /** The hash of the key whose bytes are given. */
  hashBytes(bytes: Uint8Array, from: number, length: number): number {
    return hashKey(bytes, from, length, this.#hashSeed);
  }

  /**
   * Adds a key that `findHashed` did not find; returns its id. `view` is a view of the same bytes. The caller then sets
   * the record's position and state with `place`.
   */
  add(hash: number, bytes: Uint8Array, view: DataView, from: number, length: number, token: number): number {
    const id = this.#rows.take();
    const rows = this.#rows.pageOf(id);
    const row = placeOf(id);
    rows[row + fieldKey] = this.#arena.add(view, from, length);
    rows[row + fieldToken] = token;
    rows[row + fieldCache] = 0;
    addPlace(this.#shard(hash), hash, id);
    this.#size += 1;
    this.#link(id, this.#arcs, token >>> (32 - listBits), fieldArcNext);
    const bucket = bucketList(bytes, from, length);
    this.#link(id, this.#buckets, bucket, fieldBucketNext);
    this.#bucketSizes[bucket] = (this.#bucketSizes[bucket] ?? 0) + 1;
    return id;
  }

  /** Sets where the key's newest record is. Clears the fingerprint of the previous one. */
  place(id: number, segment: number, offset: number, valueBytes: number, seq: number, state: RowState): void {
    const rows = this.#rows.pageOf(id);
    const row = placeOf(id);
    rows[row + fieldSegment] = segment;
    rows[row + fieldOffset] = offset;
    rows[row + fieldSize] =
      state === 'removed' ? removedSize : state === 'damaged' ? valueBytes | damagedBit : valueBytes;
    rows[row + fieldSeqHigh] = Math.floor(seq / 0x100000000);
    rows[row + fieldSeqLow] = seq >>> 0;
    rows[row + fieldMarkHigh] = 0;
    rows[row + fieldMarkLow] = 0;
  }

  /** Stores two unsigned numbers with the key's newest record, until the next one is placed. */
  setMark(id: number, high: number, low: number): void {
    const rows = this.#rows.pageOf(id);
    rows[placeOf(id) + fieldMarkHigh] = high;
    rows[placeOf(id) + fieldMarkLow] = low;
  }

  /** The first of these numbers; 0 if there are none. */
  markHighOf(id: number): number {
    return this.#field(id, fieldMarkHigh);
  }

  /** The second of these numbers; 0 if there are none. */
  markLowOf(id: number): number {
    return this.#field(id, fieldMarkLow);
  }

  /** Whether the key is a record of the engine's own: its bucket type is empty (`systemKey`). */
  isSystem(id: number): boolean {
    return isSystemByte(this.#arena.firstByte(this.#field(id, fieldKey)));
  }

  /** The record was copied: same bytes, another position. */
  move(id: number, segment: number, offset: number): void {
    const rows = this.#rows.pageOf(id);
    rows[placeOf(id) + fieldSegment] = segment;
    rows[placeOf(id) + fieldOffset] = offset;
  }

  /** Sets the token of a key that is written again; it differs if the routing of its bucket has changed. */
  setToken(id: number, token: number): void {
    if (((this.tokenOf(id) ^ token) | 0) === 0) return;
    this.#unlink(id, this.#arcs, this.tokenOf(id) >>> (32 - listBits), fieldArcNext);
    this.#rows.pageOf(id)[placeOf(id) + fieldToken] = token;
    this.#link(id, this.#arcs, token >>> (32 - listBits), fieldArcNext);
  }

  /** Removes a key. Its id may be used again. */
  remove(id: number): void {
    const rows = this.#rows.pageOf(id);
    const row = placeOf(id);
    const address = rows[row + fieldKey] ?? 0;
    assert(address !== 0 && this.#size > 0, 'a key that is removed is in the directory');
    const key = this.#arena.view(address);
    this.#unlink(id, this.#arcs, this.tokenOf(id) >>> (32 - listBits), fieldArcNext);
    const bucket = bucketList(key, 0, key.length);
    this.#unlink(id, this.#buckets, bucket, fieldBucketNext);
    this.#bucketSizes[bucket] = (this.#bucketSizes[bucket] ?? 0) - 1;
    const hash = hashKey(key, 0, key.length, this.#hashSeed);
    removePlace(this.#shard(hash), hash, id);
    this.#arena.remove(address);
    rows[row + fieldKey] = 0;
    this.#rows.release(id);
    this.#size -= 1;
  }

  /** The key itself. */
  keyOf(id: number): PackedKey {
    return this.#arena.view(this.#field(id, fieldKey)).toString('latin1') as PackedKey;
  }

  /** Length of the key in bytes. */
  keyBytesOf(id: number): number {
    return this.#arena.length(this.#field(id, fieldKey));
  }

  /** The token with which the key was last written. */
  tokenOf(id: number): Token {
    return this.#field(id, fieldToken) as Token;
  }

  /** Number of the segment with the newest record. */
  segmentOf(id: number): number {
    return this.#field(id, fieldSegment);
  }

  /** Offset of the newest record in its segment. */
  offsetOf(id: number): number {
    return this.#field(id, fieldOffset);
  }

  /** State of the key's row. */
  stateOf(id: number): RowState {
    const size = this.#field(id, fieldSize);
    return size < damagedBit ? 'live' : size === removedSize ? 'removed' : 'damaged';
  }

  /** Length of the value; 0 for a removed key. */
  valueBytesOf(id: number): number {
    const size = this.#field(id, fieldSize);
    return size === removedSize ? 0 : size & 0x7fffffff;
  }

  /** Sequence number of the newest record. */
  seqOf(id: number): number {
    return this.#field(id, fieldSeqHigh) * 0x100000000 + this.#field(id, fieldSeqLow);
  }

  /** Whether the row is in use and its newest record has this number; `id` may belong to a key removed since. */
  holds(id: number, seq: number): boolean {
    return this.#field(id, fieldKey) !== 0 && this.seqOf(id) === seq;
  }

  /** The position of the key's value in the value cache; 0 for none. */
  cacheOf(id: number): number {
    return this.#field(id, fieldCache);
  }

  /** Whether the row is in use and has this cache position; `id` may belong to a key removed since. */
  pointsAt(id: number, place: number): boolean {
    const rows = this.#rows.pageOf(id);
    return rows[placeOf(id) + fieldCache] === place && rows[placeOf(id) + fieldKey] !== 0;
  }

  /** Sets the position in the value cache; 0 for none. */
  setCache(id: number, place: number): void {
    this.#rows.pageOf(id)[placeOf(id) + fieldCache] = place;
  }

  /** At most this many keys begin with `prefix`, a whole bucket prefix; other buckets of the same list count, too. */
  bucketKeysMax(prefix: string): number {
    const bytes = Buffer.from(prefix, 'latin1');
    return this.#bucketSizes[bucketList(bytes, 0, bytes.length)] ?? 0;
  }

  /** Ids of the keys whose bytes begin with `prefix`, which is a whole bucket prefix (`bucketPrefix`). */
  *idsOfBucket(prefix: string): Generator<number, void, undefined> {
    const bytes = Buffer.from(prefix, 'latin1');
    for (const id of this.#walk(this.#buckets, bucketList(bytes, 0, bytes.length), fieldBucketNext)) {
      const key = this.#arena.view(this.#field(id, fieldKey));
      if (key.length >= bytes.length && bytes.compare(key, 0, bytes.length) === 0) yield id;
    }
  }

  /** Ids of the keys with tokens after `from` up to `to`, across zero if need be; `from` = `to` is the whole ring. */
  *idsOfTokens(from: number, to: number): Generator<number, void, undefined> {
    const first = (from + 1) >>> 0;
    const arcCount = arcsBetween(first, to);
    for (let step = 0; step < arcCount; step++) {
      const arc = ((first >>> (32 - listBits)) + step) & (listCount - 1);
      if (this.#arcs[arc] === 0) continue;
      // For the whole ring the last arc may be the first one again: each key belongs to one of the two visits.
      const span = (to - first) >>> 0;
      for (const id of this.#walk(this.#arcs, arc, fieldArcNext)) {
        const distance = (this.tokenOf(id) - first) >>> 0;
        if (distance > span) continue;
        if (arcCount > listCount && step === 0 && distance > span - arcTokens) continue;
        if (arcCount > listCount && step === listCount && distance < arcTokens) continue;
        yield id;
      }
    }
  }

  /** The last token up to which there is certainly no key from `first` to `last`; `first - 1` if there may be one. */
  emptyThrough(first: number, last: number): number {
    let arc = first >>> (32 - listBits);
    const lastArc = last >>> (32 - listBits);
    if (this.#arcs[arc] !== 0) return first - 1;
    while (arc < lastArc && this.#arcs[arc + 1] === 0) arc++;
    return Math.min(last, (arc + 1) * arcTokens - 1);
  }

  /** Ids of all keys. */
  *ids(): Generator<number, void, undefined> {
    for (let arc = 0; arc < listCount; arc++) {
      if (this.#arcs[arc] !== 0) yield* this.#walk(this.#arcs, arc, fieldArcNext);
    }
  }

  *#walk(heads: Uint32Array, list: number, field: number): Generator<number, void, undefined> {
    const walk = new Walk(heads[list] ?? 0, field);
    this.#walks.add(walk);
    try {
      while (walk.next !== 0) {
        const id = walk.next;
        walk.next = this.#field(id, field);
        yield id;
      }
    } finally {
      this.#walks.delete(walk);
    }
  }

  #link(id: number, heads: Uint32Array, list: number, field: number): void {
    const head = heads[list] ?? 0;
    const rows = this.#rows.pageOf(id);
    rows[placeOf(id) + field] = head;
    rows[placeOf(id) + field + 1] = 0;
    if (head !== 0) this.#rows.pageOf(head)[placeOf(head) + field + 1] = id;
    heads[list] = id;
  }

  #unlink(id: number, heads: Uint32Array, list: number, field: number): void {
    const next = this.#field(id, field);
    const previous = this.#field(id, field + 1);
    if (previous === 0) heads[list] = next;
    else this.#rows.pageOf(previous)[placeOf(previous) + field] = next;
    if (next !== 0) this.#rows.pageOf(next)[placeOf(next) + field + 1] = previous;
    if (this.#walks.size === 0) return;
    for (const walk of this.#walks) if (walk.next === id && walk.field === field) walk.next = next;
  }

  #field(id: number, field: number): number {
    return this.#rows.pageOf(id)[placeOf(id) + field] ?? 0;
  }

  #shard(hash: number): Shard {
    const shard = this.#shards[hash & (shardCount - 1)];
    assert(shard !== undefined, 'a shard number is below 64');
    return shard;
  }

  /** Copies the key's bytes to the scratch buffer; returns the key's hash. */
  #stage(key: PackedKey): number {
    if (key.length > this.#scratch.length) this.#growScratch(key.length);
    return putKey(key, this.#scratch, 0, this.#hashSeed);
  }

  #growScratch(length: number): void {
    this.#scratch = Buffer.alloc(length * 2);
    this.#scratchView = viewOf(this.#scratch);
  }
}

/** The list of a key's bucket, by the hash of its bucket prefix; 0 for a key that is not in packed form. */
function bucketList(bytes: Uint8Array, from: number, length: number): number {
  const lengthAt = 1 + (bytes[from] ?? 0);
  if (lengthAt + 2 > length) return 0;
  const prefixBytes = prefixBytesOf(
    bytes[from] ?? 0,
    bytes[from + lengthAt] ?? 0,
    bytes[from + lengthAt + 1] ?? 0,
  );
  return prefixBytes > length ? 0 : hashKey(bytes, from, prefixBytes, 0) & (listCount - 1);
}

/** Arcs touched by the tokens `first` to `to`; one more than exist if the range returns to its first arc. */
function arcsBetween(first: number, to: number): number {
  const span = (to - first) >>> 0;
  const within = first & (arcTokens - 1);
  return Math.floor((within + span) / arcTokens) + 1;
}
