/**
 * The object stored under a key: the siblings of concurrent writes and the causal context that covers them, as a dotted
 * version vector set. The functions are pure; replicas that have seen the same writes hold the same bytes.
 *
 * Invariants: the context covers every sibling's dot; siblings are sorted by dot, each dot once; there is at least one
 * sibling (a tombstone is a sibling too); no object is mutated.
 */
import { assert } from '../../base/assert.ts';
import { ByteReader, ByteWriter, BytesError, varintBytes } from '../../base/bytes.ts';
import type { NameTable } from '../../base/name-table.ts';
import type { Content } from './content.ts';
import { contentBytes, readContent, writeContent } from './content.ts';
import type { Dot, VersionVector } from './dots.ts';
import {
  compareDots,
  countersPerMs,
  covers,
  describeVector,
  dotBytes,
  emptyVector,
  highestCounter,
  includesVector,
  isNewerDot,
  mergeVectors,
  readDot,
  readVector,
  withDot,
  writeDot,
  writeVector,
} from './dots.ts';

/** One of several values of a key, none of which has replaced the others; or a tombstone. */
export interface Sibling extends Content {
  readonly dot: Dot;
  /** Milliseconds since the epoch, by the clock of the coordinating replica (`dates.ts`). */
  readonly lastModifiedMs: number;
  /**
   * Of a write that was made from what its writer had read: the counter that it follows (`basisOf`). 0: the write was
   * made from nothing.
   */
  readonly basis: number;
}

/** A key's siblings and their causal context. */
export interface StoredObject {
  readonly context: VersionVector;
  readonly siblings: readonly Sibling[];
}

/**
 * Limit of siblings at a coordinator; a write beyond it is refused (`TooLarge`). Merged objects may hold more, so
 * readers set no limit: what was written must be readable.
 */
export const siblingsMax = 1000;
/** Limit of entries in a client's context. Real contexts are far shorter; a forged one would be stored with the key. */
const contextEntriesMax = 10_000;
const formatVersion = 1;
/** Objects with a sibling that has a basis. Builds before peer messages of version 4 do not read it. */
const basisVersion = 2;
/** Counters before a write that was made from what its writer had read, in which it yields to other writes. */
const yieldCounters = 10 * 60_000 * countersPerMs;

/**
 * The object after the write named by `dot`, whose writer has seen `seen` (the client's causal context). The write
 * replaces every sibling that its writer had seen and stands beside the others. The dot must be new: neither the object
 * nor `seen` covers it. `basis`: see `basisOf`.
 */
export function applyWrite(
  current: StoredObject | undefined,
  seen: VersionVector,
  content: Content,
  dot: Dot,
  nowMs: number,
  basis = 0,
): StoredObject {
  const known = mergeVectors(current?.context ?? emptyVector, seen);
  assert(!covers(known, dot), 'a dot is minted once');
  const siblings = current?.siblings.filter((sibling) => !covers(seen, sibling.dot)) ?? [];
  siblings.push(siblingOf(content, dot, nowMs, basis));
  return { context: withDot(known, dot), siblings: sortSiblings(siblings) };
}

/**
 * The same for a bucket that keeps one sibling: the write's own. Its counter must be beyond every one that the object
 * and `seen` know, so that it wins over all siblings (`resolveToNewest` of `applyWrite`, without creating the losers).
 */
export function replaceWith(
  current: StoredObject | undefined,
  seen: VersionVector,
  content: Content,
  dot: Dot,
  nowMs: number,
): StoredObject {
  const known = mergeVectors(current?.context ?? emptyVector, seen);
  assert(highestCounter(known) < dot.counter, 'a dot that replaces is beyond all that is known');
  return { context: withDot(known, dot), siblings: [siblingOf(content, dot, nowMs, 0)] };
}

/**
 * The basis of a write that was made from what `seen` covers. It follows everything that it has seen directly: a write
 * that it has not seen, and that was made since, wins over it, though the dot of this one may be later. So a plain write
 * that runs at the same time as an increment is never lost to it: in the order of both it comes second. The basis is at
 * most ten minutes before the dot: nothing older is still under way.
 */
export function basisOf(seen: VersionVector, dot: Dot): number {
  return Math.max(highestCounter(seen), dot.counter - yieldCounters, 0);
}

/**
 * Whether `left` wins where only one sibling may stay: a total order in which a write is after everything that it has
 * seen, whatever the clocks say. Otherwise two replicas could drop each other's winner. A write counts from its dot, or
 * from just behind its basis.
 */
export function isNewer(left: Sibling, right: Sibling): boolean {
  const one = left.basis === 0 ? left.dot.counter : left.basis;
  const other = right.basis === 0 ? right.dot.counter : right.basis;
  if (one !== other) return one > other;
  if ((left.basis === 0) !== (right.basis === 0)) return left.basis !== 0;
  return isNewerDot(left.dot, right.dot);
}

/**
 * What two replicas know together: the siblings that neither has seen replaced. Commutative, associative, idempotent.
 */
export function mergeObjects(left: StoredObject, right: StoredObject): StoredObject {
  // Mostly one object is the other with one more write.
  if (isBeyond(right, left)) return right;
  if (isBeyond(left, right)) return left;
  const siblings: Sibling[] = [];
  let at = 0;
  // Both lists are sorted by dot: one walk over both keeps the order.
  for (const sibling of left.siblings) {
    at = keepBefore(right.siblings, at, sibling.dot, left.context, siblings);
    const both = sameDot(sibling.dot, right.siblings[at]?.dot);
    if (both) at += 1;
    if (both || !covers(right.context, sibling.dot)) siblings.push(sibling);
  }
  keepBefore(right.siblings, at, undefined, left.context, siblings);
  return { context: mergeVectors(left.context, right.context), siblings };
}

/** Whether `newer` knows everything that `older` knows and holds nothing that `older` has seen replaced. */
function isBeyond(newer: StoredObject, older: StoredObject): boolean {
  if (!includesVector(newer.context, older.context)) return false;
  for (const { dot } of newer.siblings) if (covers(older.context, dot) && !holds(older, dot)) return false;
  return true;
}

function holds(object: StoredObject, dot: Dot): boolean {
  for (const sibling of object.siblings) if (sameDot(sibling.dot, dot)) return true;
  return false;
}

/**
 * Adds to `kept`, from `at` on, the siblings before `end` that `context` does not know. Returns the index where it
 * stopped.
 */
function keepBefore(
  siblings: readonly Sibling[],
  at: number,
  end: Dot | undefined,
  context: VersionVector,
  kept: Sibling[],
): number {
  let next = at;
  for (; next < siblings.length; next++) {
    const sibling = siblings[next];
    if (sibling === undefined || (end !== undefined && compareDots(sibling.dot, end) >= 0)) break;
    if (!covers(context, sibling.dot)) kept.push(sibling);
  }
  return next;
}

/**
 * The object with its newest sibling only (`isNewer`), for a bucket without siblings. A dot's counter follows the clock
 * and is beyond everything that its writer had seen. The context stays, so the losers stay lost on every replica.
 * An order by the wall clock alone would be wrong: with differing clocks each replica could drop the value that another
 * one keeps.
 */
export function resolveToNewest(object: StoredObject): StoredObject {
  if (object.siblings.length <= 1) return object;
  const newest = object.siblings.reduce((best, sibling) => (isNewer(sibling, best) ? sibling : best));
  return { context: object.context, siblings: [newest] };
}

/** The siblings that are values; empty if all siblings are tombstones. */
export function liveSiblings(object: StoredObject): readonly Sibling[] {
  return object.siblings.some((sibling) => sibling.tombstone)
    ? object.siblings.filter((sibling) => !sibling.tombstone)
    : object.siblings;
}

/** Whether both objects have the same context and the same dots, and therefore the same content. */
export function sameObject(left: StoredObject, right: StoredObject): boolean {
  if (left === right) return true;
  return (
    left.siblings.length === right.siblings.length &&
    left.context.length === right.context.length &&
    left.siblings.every((sibling, index) => sameDot(sibling.dot, right.siblings[index]?.dot)) &&
    left.context.every((entry, index) => sameDot(entry, right.context[index]))
  );
}

/** Canonical bytes: equal objects have equal bytes. Format version 1, or 2 if a sibling has a basis. */
export function encodeObject(object: StoredObject): Buffer {
  const based = object.siblings.some(hasBasis);
  const writer = new ByteWriter(objectBytes(object));
  writer.u8(based ? basisVersion : formatVersion);
  writeVector(writer, object.context);
  writer.varint(object.siblings.length);
  for (const sibling of object.siblings) writeSibling(writer, sibling, based);
  return writer.finish();
}

function hasBasis({ basis }: Sibling): boolean {
  return basis !== 0;
}

/**
 * Length of the front part of an object's bytes that names its version: the context, and the dot of its only sibling.
 * Objects whose bytes begin with the same such part have the same content (`sameObject`). 0 if the object has several
 * siblings, or names of 128 bytes or more: then only all bytes tell.
 */
export function versionLength(bytes: Uint8Array): number {
  const entries = bytes[1] ?? shortMax;
  if (entries >= shortMax) return 0;
  let at = 2;
  for (let index = 0; index < entries; index++) {
    at = endOfDot(bytes, at);
    if (at === 0) return 0;
  }
  return bytes[at] === 1 ? endOfDot(bytes, at + 1) : 0;
}

/** Varints from here on have more than one byte. */
const shortMax = 0x80;

/** Where the dot at `at` ends; 0 if the bytes end before it, or its actor is long. */
function endOfDot(bytes: Uint8Array, at: number): number {
  const actorBytes = bytes[at] ?? shortMax;
  if (actorBytes >= shortMax) return 0;
  let end = at + 1 + actorBytes;
  while ((bytes[end] ?? 0) >= shortMax) end += 1;
  return end < bytes.length ? end + 1 : 0;
}

/** Size of `encodeObject`'s bytes. A larger buffer per small object would be a good part of all garbage. */
export function objectBytes({ context, siblings }: StoredObject): number {
  let bytes = 1 + varintBytes(context.length) + varintBytes(siblings.length);
  for (const entry of context) bytes += dotBytes(entry);
  const based = siblings.some(hasBasis);
  for (const sibling of siblings) {
    bytes += dotBytes(sibling.dot) + varintBytes(sibling.lastModifiedMs) + contentBytes(sibling);
    if (based) bytes += varintBytes(sibling.basis);
  }
  return bytes;
}

/**
 * Decodes `encodeObject`'s bytes; values are views of them. Throws `BytesError` on anything else. `actors` interns the
 * actors, for callers that read many objects written by the same few actors.
 */
export function decodeObject(bytes: Uint8Array, actors?: NameTable): StoredObject {
  const reader = new ByteReader(bytes);
  const version = reader.u8();
  if (version !== formatVersion && version !== basisVersion)
    throw new BytesError(`object format ${version}; this version reads ${formatVersion} and ${basisVersion}`);
  const based = version === basisVersion;
  const context = readVector(reader, actors);
  const count = reader.varint();
  if (count === 0 || count > reader.left) throw new BytesError(`${count} siblings in ${reader.left} bytes`);
  // Mostly there is one sibling: an array of exactly one.
  const siblings = [readCovered(reader, context, actors, based)];
  for (let index = 1; index < count; index++) {
    const sibling = readCovered(reader, context, actors, based);
    const last = siblings.at(-1);
    if (last !== undefined && compareDots(last.dot, sibling.dot) >= 0)
      throw new BytesError('siblings out of order');
    siblings.push(sibling);
  }
  reader.end();
  if (based && !siblings.some(hasBasis)) throw new BytesError('an object of format 2 without a basis');
  return { context, siblings };
}

function readCovered(
  reader: ByteReader,
  context: VersionVector,
  actors: NameTable | undefined,
  based: boolean,
): Sibling {
  const sibling = readSibling(reader, actors, based);
  if (!covers(context, sibling.dot)) throw new BytesError('a sibling that its context does not cover');
  return sibling;
}

/** The causal context as clients carry it: opaque bytes. */
export function encodeContext(context: VersionVector): Buffer {
  const writer = new ByteWriter(64);
  writer.u8(formatVersion);
  writeVector(writer, context);
  return writer.finish();
}

/** Decodes `encodeContext`'s bytes. Throws `BytesError` on anything else, and for more than 10,000 entries. */
export function decodeContext(bytes: Uint8Array): VersionVector {
  const reader = new ByteReader(bytes);
  const version = reader.u8();
  if (version !== formatVersion)
    throw new BytesError(`context format ${version}; this version reads ${formatVersion}`);
  const context = readVector(reader);
  reader.end();
  if (context.length > contextEntriesMax) throw new BytesError(`a context of ${context.length} entries`);
  return context;
}

/** `[n1.5f:2] {n1.5f:2 "text/plain" 5 bytes}`, for logs and golden files. */
export function describeObject(object: StoredObject): string {
  const siblings = object.siblings.map((sibling) => {
    const what = sibling.tombstone ? 'tombstone' : `"${sibling.contentType}" ${sibling.value.length} bytes`;
    return `{${sibling.dot.actor}:${sibling.dot.counter} ${what}}`;
  });
  return [describeVector(object.context), ...siblings].join(' ');
}

function writeSibling(writer: ByteWriter, sibling: Sibling, based: boolean): void {
  writeDot(writer, sibling.dot);
  if (based) writer.varint(sibling.basis);
  writer.varint(sibling.lastModifiedMs);
  writeContent(writer, sibling);
}

function readSibling(reader: ByteReader, actors: NameTable | undefined, based: boolean): Sibling {
  const dot = readDot(reader, actors);
  const basis = based ? reader.varint() : 0;
  if (basis >= dot.counter) throw new BytesError('a write that is not behind its basis');
  const lastModifiedMs = reader.varint();
  return siblingOf(readContent(reader), dot, lastModifiedMs, basis);
}

/** Copies field by field: a spread costs several times as much, and every sibling of every object is made here. */
function siblingOf(content: Content, dot: Dot, lastModifiedMs: number, basis: number): Sibling {
  return {
    value: content.value,
    contentType: content.contentType,
    charset: content.charset,
    contentEncoding: content.contentEncoding,
    meta: content.meta,
    links: content.links,
    tombstone: content.tombstone,
    dot,
    lastModifiedMs,
    basis,
  };
}

function sameDot(left: Dot, right: Dot | undefined): boolean {
  return left.actor === right?.actor && left.counter === right.counter;
}

function sortSiblings(siblings: readonly Sibling[]): readonly Sibling[] {
  return siblings.length <= 1
    ? siblings
    : siblings.toSorted((left, right) => compareDots(left.dot, right.dot));
}
