/**
 * The requests of one connection that are under way, by id. Ids ascend and mostly end in order, so a request's place is
 * the low bits of its id: finding it takes no hash table, and its end leaves nothing to clean up. A request whose place
 * is taken by one that has been under way for very long goes to a map beside.
 *
 * Invariants: at most half of the places are taken when a request is added, so the table grows with what is under way
 * and not with how long it takes. An id is in the table or in the map, never in both.
 */
import { failAssertion } from '../base/assert.ts';

const placesMin = 64;

/** What the table needs of a request. */
export interface Numbered {
  /** An unsigned 32-bit integer. */
  readonly id: number;
}

/** Requests under way. */
export class InFlight<T extends Numbered> {
  /** A power of two of places. */
  #places: (T | undefined)[] = new Array<T | undefined>(placesMin).fill(undefined);
  /** Those whose place was taken. */
  readonly #beside = new Map<number, T>();
  #size = 0;
  #newestId = 0;

  /** How many requests are under way. */
  get size(): number {
    return this.#size;
  }

  /** The request with that id; undefined if none is under way. */
  get(id: number): T | undefined {
    const one = this.#places[id & (this.#places.length - 1)];
    if (one?.id === id) return one;
    return this.#beside.size === 0 ? undefined : this.#beside.get(id);
  }

  /** Adds a request, which has the next id. Fails if the id is under way. */
  add(one: T): void {
    const { id } = one;
    if (this.get(id) !== undefined) failAssertion('ids in flight are unique', id);
    if (this.#size * 2 >= this.#places.length) this.#grow();
    this.#size += 1;
    this.#newestId = id;
    this.#put(one);
  }

  /** Removes and returns the request with that id; undefined if none is under way. */
  delete(id: number): T | undefined {
    const place = id & (this.#places.length - 1);
    const one = this.#places[place];
    if (one?.id === id) {
      this.#places[place] = undefined;
      this.#size -= 1;
      return one;
    }
    const beside = this.#beside.get(id);
    if (beside === undefined) return undefined;
    this.#beside.delete(id);
    this.#size -= 1;
    return beside;
  }

  /** The requests under way, the one added first first. */
  values(): T[] {
    const all = this.#places.filter((one) => one !== undefined);
    for (const one of this.#beside.values()) all.push(one);
    const age = ({ id }: T): number => (this.#newestId - id) >>> 0;
    return all.sort((a, b) => age(b) - age(a));
  }

  /** Removes all requests. */
  clear(): void {
    this.#places = new Array<T | undefined>(placesMin).fill(undefined);
    this.#beside.clear();
    this.#size = 0;
  }

  #put(one: T): void {
    const place = one.id & (this.#places.length - 1);
    if (this.#places[place] === undefined) this.#places[place] = one;
    else this.#beside.set(one.id, one);
  }

  #grow(): void {
    const all = this.values();
    this.#places = new Array<T | undefined>(this.#places.length * 2).fill(undefined);
    this.#beside.clear();
    for (const one of all) this.#put(one);
  }
}
