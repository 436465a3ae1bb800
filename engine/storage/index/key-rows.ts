/**
 * The rows of the key directory: 14 numbers of 32 bits per key, in pages that never move once they are full, so that
 * growth copies nothing. A row's number is its key's id; row 0 is never used. The row of a removed key is used again.
 *
 * `key-directory.ts` defines the fields, except for one link, which chains the free rows.
 */
import { assert } from '../../base/assert.ts';

/** Numbers in a row. */
export const rowLength = 14;
/** The field that chains free rows. */
export const fieldLink = 8;

const pageBits = 13;
const pageRows = 1 << pageBits;
/** The first page starts small: the simulator opens many stores with few keys. */
const firstPageRows = 16;

/** The rows of one directory. */
export class KeyRows {
  readonly #pages: Uint32Array[] = [];
  #nextRow = 1;
  #freeRow = 0;

  /** Bytes of memory used. */
  get bytes(): number {
    return this.#pages.reduce((sum, page) => sum + page.byteLength, 0);
  }

  /** The page that contains a row, at `placeOf(id)`. Valid until the next `take`. */
  pageOf(id: number): Uint32Array {
    const page = this.#pages[id >>> pageBits];
    assert(page !== undefined, 'a row lies in a page');
    return page;
  }

  /** A row for one more key. Its fields are not cleared. */
  take(): number {
    const free = this.#freeRow;
    if (free !== 0) {
      this.#freeRow = this.pageOf(free)[placeOf(free) + fieldLink] ?? 0;
      return free;
    }
    const id = this.#nextRow++;
    if ((id & (pageRows - 1)) === 0) this.#pages.push(new Uint32Array(pageRows * rowLength));
    else if (id < pageRows) this.#growFirst(id);
    return id;
  }

  /** Frees a row. */
  release(id: number): void {
    this.pageOf(id)[placeOf(id) + fieldLink] = this.#freeRow;
    this.#freeRow = id;
  }

  #growFirst(id: number): void {
    const first = this.#pages[0];
    if (first !== undefined && placeOf(id) < first.length) return;
    const rows = Math.min(pageRows, Math.max(firstPageRows, id * 2));
    const grown = new Uint32Array(rows * rowLength);
    if (first !== undefined) grown.set(first);
    this.#pages[0] = grown;
  }
}

/** Where a row begins in its page. */
export function placeOf(id: number): number {
  return (id & (pageRows - 1)) * rowLength;
}
