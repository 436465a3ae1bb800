/**
 * Mints the dots of this incarnation's writes: which actor a key is written under, and the counter.
 *
 * A version vector says, per actor, up to which counter all writes of the key are known. Under one actor a replica may
 * therefore write a key only while it holds, or its context covers, everything that it has written there under that
 * actor. Otherwise the new entry would cover writes that the new object does not know of, and every replica that merges
 * it would drop values that its writer has never seen. Two events end this: the replica's copy can no longer be read
 * (and what heals it may know less), or a write failed here but may have reached other replicas. From then on the key
 * is written under a fresh actor, as if by another node. The price is one more entry in the key's version vector.
 *
 *     n3.5f0c         the actor of this incarnation
 *     n3.5f0c+1       the actor of a key whose copy was lost, once
 *     n3.5f0c~        the actor of what others write to the key while a transaction that votes to commit holds it
 *     n3.5f0c~+1      the same, for a key whose copy was lost, once
 *
 * The third and fourth are of no branch of a transaction. So a node that has lost its disk can tell whether a key holds
 * what a branch wrote, or only what other clients wrote before that (`transactions/recovery/redo.ts`).
 *
 * Counters follow this node's wall clock, and the counters that they meet under any key up to `clockSkewMsMax` ahead of
 * it. A key that a wrong clock or a forged context has put farther ahead gets dots that are ahead; no other key does,
 * since that would spread to all keys of all nodes. A node whose own clock was ahead and has gone back writes all keys
 * under a fresh actor from then on.
 */
import type { PackedKey } from '../base/object-key.ts';
import { clockSkewMsMax } from './object/dates.ts';
import type { Actor, Dot, VersionVector } from './object/dots.ts';
import { highestCounter, instantMsOfCounter, nextCounter } from './object/dots.ts';

/** Limit of keys with an actor of their own. Beyond it, all keys are written under a fresh actor. */
const renamedMax = 4096;
/**
 * If the clock is this many milliseconds behind the counters, it has gone back: otherwise they are never so far ahead.
 */
export const staleMsMin = 2 * clockSkewMsMax;

/** The actors and counters of one incarnation. */
export class ActorIds {
  readonly #incarnation: Actor;
  readonly #renamedMax: number;
  /** The actor of keys without one of their own. */
  #actor: Actor;
  readonly #renamed = new Map<PackedKey, Actor>();
  #names = 0;
  /** The highest counter since the clock last went back, apart from keys that are ahead of the clock. */
  #counter = 0;
  /** The highest counter of this incarnation. */
  #highest = 0;

  constructor(incarnation: Actor, keysMax = renamedMax) {
    this.#incarnation = incarnation;
    this.#actor = incarnation;
    this.#renamedMax = keysMax;
  }

  /** The counter of the newest dot, apart from keys that are ahead of the clock. */
  get counter(): number {
    return this.#counter;
  }

  /**
   * A lower bound: later writes of this incarnation, under any of its actors, have higher counters, until its clock
   * goes back. Keys that are ahead of the clock may hold earlier writes with higher counters (`mayExceedMark`).
   */
  get mark(): Dot {
    return { actor: this.#incarnation, counter: this.#counter };
  }

  /** Whether a key may hold a write of this incarnation with a counter above that of `mark`. */
  get mayExceedMark(): boolean {
    return this.#highest > this.#counter;
  }

  /**
   * The next write's dot. `known` is the context under the key, `seen` the writer's context, `nowMs` the wall clock.
   * `held`: a transaction that votes to commit holds the key, and the write is not its.
   */
  next(key: PackedKey, known: VersionVector, seen: VersionVector, nowMs: number, held = false): Dot {
    if (instantMsOfCounter(this.#counter) - nowMs > staleMsMin) this.#startOver();
    const highest = Math.max(this.#counter, highestCounter(known), highestCounter(seen));
    const counter = nextCounter(highest, nowMs);
    if (instantMsOfCounter(counter) - nowMs <= clockSkewMsMax) this.#counter = counter;
    if (counter > this.#highest) this.#highest = counter;
    return { actor: this.#actorOf(key, held), counter };
  }

  /**
   * This node no longer knows everything that this incarnation has written under the key: gives the key a fresh actor.
   */
  renounce(key: PackedKey): void {
    if (this.#renamed.has(key) || this.#renamed.size < this.#renamedMax)
      this.#renamed.set(key, this.#newName());
    else this.#rename();
  }

  /**
   * Whether the context contains dots of this incarnation ahead of `counter`. A caller that drops such a context must
   * renounce the key, since the next dot might otherwise equal one that other replicas know already.
   */
  isAhead(context: VersionVector): boolean {
    return this.#isBeyond(context, this.#counter);
  }

  /** Whether the context names writes of this incarnation that were never made. */
  isForged(seen: VersionVector): boolean {
    return this.#isBeyond(seen, this.#highest);
  }

  #isBeyond(context: VersionVector, highest: number): boolean {
    return context.some(({ actor, counter }) => counter > highest && actor.startsWith(this.#incarnation));
  }

  /** The clock has gone back: counters follow it under a fresh actor. */
  #startOver(): void {
    this.#counter = 0;
    this.#rename();
  }

  #rename(): void {
    this.#actor = this.#newName();
    this.#renamed.clear();
  }

  #newName(): Actor {
    return `${this.#incarnation}+${(this.#names += 1)}` as Actor;
  }

  #actorOf(key: PackedKey, held: boolean): Actor {
    const actor = this.#renamed.size === 0 ? this.#actor : (this.#renamed.get(key) ?? this.#actor);
    return held ? (`${this.#incarnation}~${actor.slice(this.#incarnation.length)}` as Actor) : actor;
  }
}
