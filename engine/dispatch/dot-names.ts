/**
 * The names that this life of the node gives to writes: their dots.
 *
 * A version vector tells of an actor's writes of a key up to a counter. So under an actor's name a replica may write a
 * key only while it holds, or its context covers, all that it has written there under that name: the new entry would
 * cover the rest as well, and whoever merges the object would drop what its writer has never seen. A copy that cannot
 * be read any more (and what heals it may know less than it did) and a write that failed here but may be elsewhere both
 * end that. From then on the key is written under a name of its own, which nothing was ever written under: as if by
 * another node. The price is one more entry in the key's version vector.
 *
 *     n3.5f0c         this life's actor
 *     n3.5f0c+1       the actor of a key whose copy was lost, once
 */
import type { PackedKey } from '../base/object-key.ts';
import type { Clock } from '../io/clock.ts';
import type { Actor, Dot, VersionVector } from '../object/dots.ts';
import { highestCounter, nextCounter } from '../object/dots.ts';

/** Keys with names of their own; with more of them all keys are written under a new name. */
const renamedMax = 4096;

export class DotNames {
  readonly #clock: Clock;
  readonly #life: Actor;
  readonly #renamedMax: number;
  /** What a key without a name of its own is written under. */
  #actor: Actor;
  readonly #renamed = new Map<PackedKey, Actor>();
  #names = 0;
  /** The counter of the newest dot of this life, whatever its actor. */
  #counter = 0;

  constructor(clock: Clock, life: Actor, keysMax = renamedMax) {
    this.#clock = clock;
    this.#life = life;
    this.#actor = life;
    this.#renamedMax = keysMax;
  }

  /** The counter of the newest dot. */
  get counter(): number {
    return this.#counter;
  }

  /** The next write's dot, where `known` is the context under the key and `seen` the writer's. */
  next(key: PackedKey, known: VersionVector, seen: VersionVector): Dot {
    const highest = Math.max(this.#counter, highestCounter(known), highestCounter(seen));
    this.#counter = nextCounter(highest, this.#clock.wallMs());
    return { actor: this.#actorOf(key), counter: this.#counter };
  }

  /** What this life has written under the key is not all known here any more. */
  renounce(key: PackedKey): void {
    const name = `${this.#life}+${(this.#names += 1)}` as Actor;
    if (this.#renamed.has(key) || this.#renamed.size < this.#renamedMax) {
      this.#renamed.set(key, name);
      return;
    }
    this.#actor = name;
    this.#renamed.clear();
  }

  /** The context names writes of this life that were never made. */
  isForged(seen: VersionVector): boolean {
    return seen.some(({ actor, counter }) => counter > this.#counter && actor.startsWith(this.#life));
  }

  #actorOf(key: PackedKey): Actor {
    return this.#renamed.size === 0 ? this.#actor : (this.#renamed.get(key) ?? this.#actor);
  }
}
