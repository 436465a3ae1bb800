/**
 * Causality: dots and version vectors (source: Preguiça, Baquero, Almeida, Fonte, Gonçalves, "Dotted Version Vectors",
 * 2010; Almeida et al., "Scalable and Accurate Causality Tracking", 2014).
 *
 * A dot names one write: the actor that coordinated it and that actor's counter. A version vector says, per actor, up
 * to which counter every write of its key is known. An actor is one incarnation of one node (its name and the random
 * epoch of its start). Its counter runs over all keys, so no dot of a key is minted twice: not by a node that returns
 * with a wiped or rolled-back disk, and not for a key that was deleted and removed. A key whose copy an incarnation has
 * lost gets a fresh actor (`replica/actor-ids.ts`).
 *
 * Counters are hybrid logical clocks (Kulkarni et al., "Logical Physical Clocks", 2014). An actor's next counter is
 * beyond every counter that it knows under the key or that the writer has seen, and follows the wall clock. A counter
 * far ahead of that clock affects its own key only (two such keys may have equal dots, which are never compared). A
 * write that has seen another therefore has the greater counter, whatever the clocks say. Of two concurrent writes the
 * newer has it as far as the clocks agree. Where one write must win, this order prevents two replicas from dropping
 * each other's winner.
 *
 * Invariants: entries are sorted by actor (code units), counters are 1..2^53-1; equal vectors have equal bytes.
 */
import { present } from '../../base/assert.ts';
import type { ByteReader, ByteWriter } from '../../base/bytes.ts';
import { BytesError, runBytes, varintBytes } from '../../base/bytes.ts';
import type { ByteString } from '../../base/ids.ts';
import type { NameTable } from '../../base/name-table.ts';

/**
 * One incarnation of one node: `name.epoch`, `name.epoch+n` for a key with a fresh actor, or either with `~` for writes to
 * a key that a voting transaction holds.
 */
export type Actor = ByteString & { readonly actor: true };

/** One write: the actor that coordinated it and its counter. */
export interface Dot {
  readonly actor: Actor;
  readonly counter: number;
}

/** Per actor the highest counter known, sorted by actor. */
export type VersionVector = readonly Dot[];

/** The vector that knows no write. */
export const emptyVector: VersionVector = [];

/** Lower bound on the encoded size of a dot: the actor's length, one letter of it, the counter. */
const dotBytesMin = 3;

/** Limit of the entries allocated up front for an encoded count. */
const roomMax = 64;

/** Counters in a millisecond; 2^53 of them last beyond the year 2200. */
export const countersPerMs = 1024;

/**
 * How far a client's context may be ahead of the wall clock of the node that reads it, in milliseconds. Contexts are
 * opaque but not signed: without a limit one forged context could use up a key's counters, or win over all its writes
 * of a year. Nodes whose clocks differ by more refuse each other's contexts for keys that they do not know.
 */
export const seenAheadMsMax = 7 * 24 * 60 * 60 * 1000;

/** The highest counter that a client's context may name now. `known` is the highest counter known under the key. */
export function seenCounterMax(known: number, nowMs: number): number {
  return Math.max(known, (nowMs + seenAheadMsMax) * countersPerMs);
}

/** The counter of a write made now. `known` is the highest counter known to the actor and to the writer. */
export function nextCounter(known: number, nowMs: number): number {
  return Math.max(known + 1, nowMs * countersPerMs);
}

/**
 * The time of the write in milliseconds since the epoch, as far as its dot tells. It is never before the writes that it
 * has seen, whose clocks may have been ahead. For the dates of versions see `dates.ts`.
 */
export function instantMsOf(dot: Dot): number {
  return instantMsOfCounter(dot.counter);
}

/** The time that a counter stands for, in milliseconds since the epoch. */
export function instantMsOfCounter(counter: number): number {
  return Math.floor(counter / countersPerMs);
}

/** The highest counter of any actor; 0 for an empty vector. */
export function highestCounter(vector: VersionVector): number {
  let highest = 0;
  for (const entry of vector) if (entry.counter > highest) highest = entry.counter;
  return highest;
}

/** Whether `left` wins where only one write may stay: by the greater counter, then by the actor's name. */
export function isNewerDot(left: Dot, right: Dot): boolean {
  return left.counter === right.counter ? left.actor > right.actor : left.counter > right.counter;
}

/** The highest counter of `actor` that the vector covers; 0 for none. */
export function counterOf(vector: VersionVector, actor: Actor): number {
  for (const entry of vector) if (entry.actor === actor) return entry.counter;
  return 0;
}

/** Whether the vector knows the write that the dot names. */
export function covers(vector: VersionVector, dot: Dot): boolean {
  return counterOf(vector, dot.actor) >= dot.counter;
}

/** The causal order of two vectors. */
export type Ordering = 'equal' | 'before' | 'after' | 'concurrent';

/** Compares `left` with `right`: `before` means that `right` knows everything that `left` knows, and more. */
export function compareVectors(left: VersionVector, right: VersionVector): Ordering {
  const leftBehind = left.some((entry) => counterOf(right, entry.actor) < entry.counter);
  const rightBehind = right.some((entry) => counterOf(left, entry.actor) < entry.counter);
  if (leftBehind) return rightBehind ? 'concurrent' : 'after';
  return rightBehind ? 'before' : 'equal';
}

/** Whether `left` knows everything that `right` knows. */
export function includesVector(left: VersionVector, right: VersionVector): boolean {
  let at = 0;
  for (const entry of right) {
    // Both are sorted by actor, and mostly name the same actors.
    while (at < left.length && left[at]?.actor !== entry.actor) at += 1;
    const known = left[at];
    if (known === undefined || known.counter < entry.counter) return false;
  }
  return true;
}

/** The union: the maximum per actor. Returns `left` or `right` itself if it includes the other. */
export function mergeVectors(left: VersionVector, right: VersionVector): VersionVector {
  if (includesVector(left, right)) return left;
  if (includesVector(right, left)) return right;
  const merged: Dot[] = [];
  let at = 0;
  for (const entry of left) {
    let other = right[at];
    // Mostly both name the same actor, often as the same string.
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

/** The vector with the dot added, which is new to it. */
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

/** The order of siblings within an object: by actor, then by counter. */
export function compareDots(left: Dot, right: Dot): number {
  if (left.actor !== right.actor) return left.actor < right.actor ? -1 : 1;
  return left.counter - right.counter;
}

/** Appends a vector: varint count, then its dots. */
export function writeVector(writer: ByteWriter, vector: VersionVector): void {
  writer.varint(vector.length);
  for (const entry of vector) writeDot(writer, entry);
}

/**
 * Reads what `writeVector` wrote. Throws `BytesError` unless entries are sorted, distinct and positive. `actors`
 * interns the actors.
 */
export function readVector(reader: ByteReader, actors?: NameTable): VersionVector {
  const count = reader.varint();
  if (count > reader.left / dotBytesMin)
    throw new BytesError(`a version vector of ${count} entries in ${reader.left} bytes`);
  if (count === 0) return emptyVector;
  // Allocates exactly `count` entries: the first push to an empty array would allocate seventeen.
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

/** Size in bytes of what `writeDot` appends. */
export function dotBytes({ actor, counter }: Dot): number {
  return runBytes(actor.length) + varintBytes(counter);
}

/** Appends a dot: string actor, varint counter. */
export function writeDot(writer: ByteWriter, dot: Dot): void {
  writer.string(dot.actor).varint(dot.counter);
}

/** Reads what `writeDot` wrote. Throws `BytesError` for an empty actor or counter 0. `actors` interns the actor. */
export function readDot(reader: ByteReader, actors?: NameTable): Dot {
  const actor = (actors === undefined ? reader.string() : reader.name(actors)) as Actor;
  const counter = reader.varint();
  if (actor.length === 0 || counter === 0) throw new BytesError('a dot without an actor or counter');
  return { actor, counter };
}

/** `[n1.5f:3 n2.07:1]`, for logs and golden files. */
export function describeVector(vector: VersionVector): string {
  return `[${vector.map((entry) => `${entry.actor}:${entry.counter}`).join(' ')}]`;
}
