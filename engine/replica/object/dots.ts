/**
 * Causality: dots and version vectors (source: Preguiça, Baquero, Almeida, Fonte, Gonçalves, "Dotted Version Vectors",
 * 2010; Almeida et al., "Scalable and Accurate Causality Tracking", 2014).
 *
 * A dot names one write: the actor that coordinated it and that actor's counter. A version vector says, per actor,
 * up to which counter every write to its key is known. An actor is one life of one node (its name and the random
 * epoch of its start) and its counter runs over all keys, so no dot of a key is minted twice: not by a node that
 * returns with a wiped or rolled-back disk, and not for a key that was deleted and forgotten. A key whose copy a life has
 * lost gets another actor in it (replica/actor-ids.ts).
 *
 * Counters are hybrid logical clocks (Kulkarni et al., "Logical Physical Clocks", 2014): an actor's next one is beyond
 * every counter that it knows under the key or that the writer has seen, and follows the wall clock. What is far ahead of
 * that clock stays with its key (two such keys may have equal dots, which nobody compares). So a write that
 * has seen another has the greater counter whatever the clocks say, and of writes that have not seen one another the
 * newer has it as far as the clocks agree. Where one write must win, that order lets no two replicas drop each other's
 * winner.
 *
 * Invariants: entries are sorted by actor (code units), counters are 1..2^53-1; equal vectors have equal bytes.
 */
import { present } from '../../base/assert.ts';
import type { ByteReader, ByteWriter } from '../../base/bytes.ts';
import { BytesError, runBytes, varintBytes } from '../../base/bytes.ts';
import type { ByteString } from '../../base/ids.ts';
import type { NameTable } from '../../base/name-table.ts';

/** One life of one node: `name.epoch`. */
export type Actor = ByteString & { readonly actor: true };

export interface Dot {
  readonly actor: Actor;
  readonly counter: number;
}

/** Per actor the highest counter known, sorted by actor. */
export type VersionVector = readonly Dot[];

export const emptyVector: VersionVector = [];

/** An actor's length, one letter of it, its counter. */
const dotBytesMin = 3;

/** Entries that room is made for on the word of a length. */
const roomMax = 64;

/** Counters in a millisecond; 2^53 of them last beyond the year 2200. */
const countersPerMs = 1024;

/**
 * How far a client's context may be ahead of the clock of the node that reads it, in milliseconds. Contexts are opaque,
 * not sealed: without a limit one forged context could use up a key's counters, or win over all its writes of a year. Nodes
 * whose clocks are farther apart than this refuse each other's contexts for keys that they have not heard of.
 */
export const seenAheadMsMax = 7 * 24 * 60 * 60 * 1000;

/** The highest counter that a client's context may name now, where `known` is the highest one known under the key. */
export function seenCounterMax(known: number, nowMs: number): number {
  return Math.max(known, (nowMs + seenAheadMsMax) * countersPerMs);
}

/** The counter of a write made now, where `known` is the highest counter known to the actor and to the writer. */
export function nextCounter(known: number, nowMs: number): number {
  return Math.max(known + 1, nowMs * countersPerMs);
}

/**
 * Milliseconds since the epoch at which the write was made, as far as its dot tells: never before the writes that it has
 * seen, whose clocks may have been ahead. Versions are dated by clocks (dates.ts).
 */
export function instantMsOf(dot: Dot): number {
  return instantMsOfCounter(dot.counter);
}

export function instantMsOfCounter(counter: number): number {
  return Math.floor(counter / countersPerMs);
}

/** The highest counter of any actor; 0 for none. */
export function highestCounter(vector: VersionVector): number {
  let highest = 0;
  for (const entry of vector) if (entry.counter > highest) highest = entry.counter;
  return highest;
}

/** The write that wins where only one may stay: the greater counter, the actor's name between equals. */
export function isNewerDot(left: Dot, right: Dot): boolean {
  return left.counter === right.counter ? left.actor > right.actor : left.counter > right.counter;
}

/** The highest counter of `actor` that the vector covers; 0 for none. */
export function counterOf(vector: VersionVector, actor: Actor): number {
  for (const entry of vector) if (entry.actor === actor) return entry.counter;
  return 0;
}

/** The vector knows the write that the dot names. */
export function covers(vector: VersionVector, dot: Dot): boolean {
  return counterOf(vector, dot.actor) >= dot.counter;
}

export type Ordering = 'equal' | 'before' | 'after' | 'concurrent';

/** How `left` stands to `right`: `before` means that `right` knows all of it and more. */
export function compareVectors(left: VersionVector, right: VersionVector): Ordering {
  const leftBehind = left.some((entry) => counterOf(right, entry.actor) < entry.counter);
  const rightBehind = right.some((entry) => counterOf(left, entry.actor) < entry.counter);
  if (leftBehind) return rightBehind ? 'concurrent' : 'after';
  return rightBehind ? 'before' : 'equal';
}

/** `left` knows all that `right` knows. */
export function includesVector(left: VersionVector, right: VersionVector): boolean {
  let at = 0;
  for (const entry of right) {
    // Both are sorted by actor; mostly they name the same ones.
    while (at < left.length && left[at]?.actor !== entry.actor) at += 1;
    const known = left[at];
    if (known === undefined || known.counter < entry.counter) return false;
  }
  return true;
}

/** What either knows: the maximum per actor. One of the two, where it knows all that the other one knows. */
export function mergeVectors(left: VersionVector, right: VersionVector): VersionVector {
  if (includesVector(left, right)) return left;
  if (includesVector(right, left)) return right;
  const merged: Dot[] = [];
  let at = 0;
  for (const entry of left) {
    let other = right[at];
    // Mostly they are of one actor, and often the same string.
    while (other !== undefined && other.actor !== entry.actor && other.actor < entry.actor) {
      merged.push(other);
      other = right[++at];
    }
    if (other?.actor === entry.actor) {
      merged.push(other.counter > entry.counter ? other : entry);
      at += 1;
    } else {
      merged.push(entry);
    }
  }
  for (; at < right.length; at++) {
    const other = right[at];
    if (other !== undefined) merged.push(other);
  }
  return merged;
}

/** What the vector knows and the dot, which is new to it. */
export function withDot(vector: VersionVector, dot: Dot): VersionVector {
  let at = 0;
  let entry = vector[0];
  while (entry !== undefined && entry.actor !== dot.actor && entry.actor < dot.actor) entry = vector[++at];
  const known = entry?.actor === dot.actor;
  const merged = new Array<Dot>(known ? vector.length : vector.length + 1);
  for (let index = 0; index < at; index++) merged[index] = present(vector[index], 'an entry');
  merged[at] = dot;
  const left = known ? 1 : 0;
  for (let index = at + left; index < vector.length; index++)
    merged[index + 1 - left] = present(vector[index], 'an entry');
  return merged;
}

/** The order of siblings within an object: by actor, then counter. */
export function compareDots(left: Dot, right: Dot): number {
  if (left.actor !== right.actor) return left.actor < right.actor ? -1 : 1;
  return left.counter - right.counter;
}

export function writeVector(writer: ByteWriter, vector: VersionVector): void {
  writer.varint(vector.length);
  for (const entry of vector) writeDot(writer, entry);
}

/** Reads what `writeVector` wrote. Throws `BytesError` unless entries are sorted, distinct and positive. */
export function readVector(reader: ByteReader, actors?: NameTable): VersionVector {
  const count = reader.varint();
  if (count > reader.left / dotBytesMin)
    throw new BytesError(`a version vector of ${count} entries in ${reader.left} bytes`);
  if (count === 0) return emptyVector;
  // Room for as many as there are, not for the seventeen that a first push would make room for.
  const vector = new Array<Dot>(Math.min(count, roomMax));
  let last: Dot | undefined;
  for (let index = 0; index < count; index++) {
    const entry = readDot(reader, actors);
    if (last !== undefined && last.actor >= entry.actor)
      throw new BytesError('a version vector out of order');
    vector[index] = entry;
    last = entry;
  }
  return vector;
}

/** Bytes that `writeDot` writes. */
export function dotBytes({ actor, counter }: Dot): number {
  return runBytes(actor.length) + varintBytes(counter);
}

export function writeDot(writer: ByteWriter, dot: Dot): void {
  writer.string(dot.actor).varint(dot.counter);
}

export function readDot(reader: ByteReader, actors?: NameTable): Dot {
  const actor = (actors === undefined ? reader.string() : reader.name(actors)) as Actor;
  const counter = reader.varint();
  if (actor.length === 0 || counter === 0) throw new BytesError('a dot without an actor or counter');
  return { actor, counter };
}

/** `[n1.5f:3 n2.07:1]`, for people and goldens. */
export function describeVector(vector: VersionVector): string {
  return `[${vector.map((entry) => `${entry.actor}:${entry.counter}`).join(' ')}]`;
}
