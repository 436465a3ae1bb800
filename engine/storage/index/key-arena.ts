/**
 * Stores the bytes of all keys, in chunks outside the JavaScript heap. A key's address is one 32-bit number that counts
 * units of four bytes, so an arena holds 16 GiB. Freed slots are kept in a list per size and used again; chunks are
 * never freed.
 *
 *     slot      u16 key bytes | key | 0 to 3 bytes of padding        (free: u32 address of the next free slot)
 *
 * A key's bytes never cross a chunk boundary.
 */
import { assert } from '../../base/assert.ts';
import { u16At } from '../../base/big-endian.ts';
import { LockstepError } from '../../base/errors.ts';
import { copyBytes, sameBytes, viewOf } from '../../base/views.ts';
import { keyBytesMax } from '../log/record.ts';

const unitBytes = 4;
const chunkBits = 16;
const chunkUnits = 1 << chunkBits;
const chunkBytes = chunkUnits * unitBytes;
const chunkCountMax = 1 << 16;
const smallChunkBytes = 4096;

/** The keys of one directory. */
export class KeyArena {
  readonly #chunks: Buffer[] = [];
  /** A view of each chunk. */
  readonly #views: DataView[] = [];
  /** Per slot size in units, the address of its first free slot; 0 for none. */
  readonly #free = new Map<number, number>();
  /** First unused byte of the last chunk. Address 0 is never used: it means "none". */
  #end = unitBytes;
  #bytes = 0;

  /** Bytes of memory used. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies a key; returns its address. Throws `Overloaded` if the arena is full. */
  add(bytes: DataView, from: number, length: number): number {
    assert(length <= keyBytesMax, 'a stored key has at most 65,535 bytes');
    const units = Math.ceil((length + 2) / unitBytes);
    const address = this.#takeFree(units) ?? this.#extend(units);
    const view = this.#views[address >>> chunkBits];
    assert(view !== undefined, 'a key address lies in its arena');
    const at = placeIn(address);
    view.setUint16(at, length);
    copyBytes(bytes, from, length, view, at + 2);
    return address;
  }

  /** Frees a key's slot. */
  remove(address: number): void {
    const chunk = this.#chunkOf(address);
    const at = placeIn(address);
    const units = Math.ceil((u16At(chunk, at) + 2) / unitBytes);
    chunk.writeUInt32BE(this.#free.get(units) ?? 0, at);
    this.#free.set(units, address);
  }

  /** Whether the key is the `length` bytes at `from`. */
  equals(address: number, bytes: DataView, from: number, length: number): boolean {
    const view = this.#views[address >>> chunkBits];
    assert(view !== undefined, 'a key address lies in its arena');
    const at = placeIn(address);
    return view.getUint16(at) === length && sameBytes(view, at + 2, bytes, from, length);
  }

  /** Length of the key in bytes. */
  length(address: number): number {
    return u16At(this.#chunkOf(address), placeIn(address));
  }

  /** The first byte of a key that has one. */
  firstByte(address: number): number {
    return this.#chunkOf(address)[placeIn(address) + 2] ?? 0;
  }

  /** A view of the key, valid until the key is removed. */
  view(address: number): Buffer {
    const chunk = this.#chunkOf(address);
    const at = placeIn(address) + 2;
    return chunk.subarray(at, at + u16At(chunk, at - 2));
  }

  #takeFree(units: number): number | undefined {
    const address = this.#free.get(units);
    if (address === undefined || address === 0) return undefined;
    this.#free.set(units, this.#chunkOf(address).readUInt32BE(placeIn(address)));
    return address;
  }

  #extend(units: number): number {
    const last = this.#chunks.length - 1;
    const bytes = units * unitBytes;
    if (last >= 0 && this.#end + bytes <= chunkBytes) {
      this.#growFirst(this.#end + bytes);
      const address = last * chunkUnits + this.#end / unitBytes;
      this.#end += bytes;
      return address;
    }
    if (this.#chunks.length === chunkCountMax)
      throw new LockstepError('Overloaded', 'the key arena is full (16 GiB)');
    this.#end = last < 0 ? unitBytes : 0;
    this.#append(
      Buffer.alloc(last < 0 && this.#end + bytes <= smallChunkBytes ? smallChunkBytes : chunkBytes),
    );
    return this.#extend(units);
  }

  /** The first chunk starts small: the simulator opens many stores with few keys. */
  #growFirst(bytes: number): void {
    const first = this.#chunks[0];
    if (this.#chunks.length !== 1 || first === undefined || bytes <= first.length) return;
    const grown = Buffer.alloc(chunkBytes);
    first.copy(grown);
    this.#bytes += grown.length - first.length;
    this.#chunks[0] = grown;
    this.#views[0] = viewOf(grown);
  }

  #append(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#views.push(viewOf(chunk));
    this.#bytes += chunk.length;
  }

  #chunkOf(address: number): Buffer {
    const chunk = this.#chunks[address >>> chunkBits];
    assert(chunk !== undefined, 'a key address lies in its arena');
    return chunk;
  }
}

function placeIn(address: number): number {
  return (address & (chunkUnits - 1)) * unitBytes;
}
