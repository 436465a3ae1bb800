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
 *
 * Counters follow this node's wall clock, and what they meet no farther than clocks are apart. A key that a wrong clock
 * or a forged context has put farther ahead gets dots that are ahead, and no other key does: that would spread to all keys
 * of all nodes. Nor does a node stay ahead whose own clock was: once it has gone back, all keys are written under a new
 * name.
 */
import type { PackedKey } from '../base/object-key.ts';
import { clockSkewMsMax } from './object/dates.ts';
import type { Actor, Dot, VersionVector } from './object/dots.ts';
import { highestCounter, instantMsOfCounter, nextCounter } from './object/dots.ts';

/** Keys with names of their own; with more of them all keys are written under a new name. */
const renamedMax = 4096;
/** A clock that is so far behind the counters, in milliseconds, has gone back: they are never so far ahead of it else. */
const staleMsMin = 2 * clockSkewMsMax;

export class ActorIds {
  readonly #life: Actor;
  readonly #renamedMax: number;
  /** What a key without a name of its own is written under. */
  #actor: Actor;
  readonly #renamed = new Map<PackedKey, Actor>();
  #names = 0;
  /** The highest counter of this life since the clock went back, but for keys that are ahead of it. */
  #counter = 0;
  /** The highest counter of this life. */
  #highest = 0;

  constructor(life: Actor, keysMax = renamedMax) {
    this.#life = life;
    this.#actor = life;
    this.#renamedMax = keysMax;
  }

  /** The counter of the newest dot, but for keys that are ahead of the clock. */
  get counter(): number {
    return this.#counter;
  }

  /** Whatever this life writes from now on, under whichever name of it, has a higher counter; until its clock goes back. */
  get mark(): Dot {
    return { actor: this.#life, counter: this.#counter };
  }

  /** The next write's dot, where `known` is the context under the key and `seen` the writer's. */
  next(key: PackedKey, known: VersionVector, seen: VersionVector, nowMs: number): Dot {
    if (instantMsOfCounter(this.#counter) - nowMs > staleMsMin) this.#startOver();
    const highest = Math.max(this.#counter, highestCounter(known), highestCounter(seen));
    const counter = nextCounter(highest, nowMs);
    if (instantMsOfCounter(counter) - nowMs <= clockSkewMsMax) this.#counter = counter;
    if (counter > this.#highest) this.#highest = counter;
    return { actor: this.#actorOf(key), counter };
  }

  /** What this life has written under the key is not all known here any more. */
  renounce(key: PackedKey): void {
    if (this.#renamed.has(key) || this.#renamed.size < this.#renamedMax)
      this.#renamed.set(key, this.#newName());
    else this.#rename();
  }

  /**
   * The context knows dots of this life that are ahead of it: whoever forgets the context of a key renounces the key,
   * or the next dot there might be one that others know already.
   */
  isAhead(context: VersionVector): boolean {
    return this.#isBeyond(context, this.#counter);
  }

  /** The context names writes of this life that were never made. */
  isForged(seen: VersionVector): boolean {
    return this.#isBeyond(seen, this.#highest);
  }

  #isBeyond(context: VersionVector, highest: number): boolean {
    return context.some(({ actor, counter }) => counter > highest && actor.startsWith(this.#life));
  }

  /** The clock has gone back: counters follow it, under a name that has none yet. */
  #startOver(): void {
    this.#counter = 0;
    this.#rename();
  }

  #rename(): void {
    this.#actor = this.#newName();
    this.#renamed.clear();
  }

  #newName(): Actor {
    return `${this.#life}+${(this.#names += 1)}` as Actor;
  }

  #actorOf(key: PackedKey): Actor {
    return this.#renamed.size === 0 ? this.#actor : (this.#renamed.get(key) ?? this.#actor);
  }
}
