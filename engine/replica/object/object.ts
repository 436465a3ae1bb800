/**
 * What is stored under a key: the siblings of concurrent writes and the causal context that covers them, as a dotted
 * version vector set. The functions are pure; every replica that has seen the same writes holds the same bytes.
 *
 * Invariants: the context covers every sibling's dot; siblings are sorted by dot, each dot once; at least one sibling
 * (a tombstone is a sibling too); nothing here is mutated.
 */
import { assert } from '../../base/assert.ts';
import { ByteReader, ByteWriter, BytesError, varintBytes } from '../../base/bytes.ts';
import type { NameTable } from '../../base/name-table.ts';
import type { Content } from './content.ts';
import { contentBytes, readContent, writeContent } from './content.ts';
import type { Dot, VersionVector } from './dots.ts';
import {
  compareDots,
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

export interface Sibling extends Content {
  readonly dot: Dot;
  /** Milliseconds since the epoch, by the clock of the coordinating replica (dates.ts). */
  readonly lastModifiedMs: number;
}

export interface StoredObject {
  readonly context: VersionVector;
  readonly siblings: readonly Sibling[];
}

/**
 * Siblings beyond which a coordinator takes no more (`TooLarge`). Merged objects may hold more, so readers set no limit:
 * what was written must be read back.
 */
export const siblingsMax = 1000;
/** Entries of a client's context at most. Ours are shorter by far; a forged one would be stored with the key. */
const contextEntriesMax = 10_000;
const formatVersion = 1;

/**
 * The object after the write named by `dot`, whose writer has seen `seen` (the client's causal context): it replaces
 * every sibling that the writer had seen and stands beside the others. The dot must be new: beyond all that the
 * object and `seen` know of its actor (`covers` is false for both).
 */
export function applyWrite(
  current: StoredObject | undefined,
  seen: VersionVector,
  content: Content,
  dot: Dot,
  nowMs: number,
): StoredObject {
  const known = mergeVectors(current?.context ?? emptyVector, seen);
  assert(!covers(known, dot), 'a dot is minted once');
  const siblings = current?.siblings.filter((sibling) => !covers(seen, sibling.dot)) ?? [];
  siblings.push(siblingOf(content, dot, nowMs));
  return { context: withDot(known, dot), siblings: sortSiblings(siblings) };
}

/**
 * The same where only one sibling may stay: the write's own, whose counter must be beyond every one that the object and
 * `seen` know, so it wins over all (`resolveToNewest` of `applyWrite`, without the siblings that lose).
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
  return { context: withDot(known, dot), siblings: [siblingOf(content, dot, nowMs)] };
}

/** What two replicas know together: siblings that neither has seen replaced. Commutative, associative, idempotent. */
export function mergeObjects(left: StoredObject, right: StoredObject): StoredObject {
  // Mostly one is the other with a write more.
  if (isBeyond(right, left)) return right;
  if (isBeyond(left, right)) return left;
  const siblings: Sibling[] = [];
  let at = 0;
  // Both lists are sorted by dot: one walk over the two keeps the order.
  for (const sibling of left.siblings) {
    at = keepBefore(right.siblings, at, sibling.dot, left.context, siblings);
    const both = sameDot(sibling.dot, right.siblings[at]?.dot);
    if (both) at += 1;
    if (both || !covers(right.context, sibling.dot)) siblings.push(sibling);
  }
  keepBefore(right.siblings, at, undefined, left.context, siblings);
  return { context: mergeVectors(left.context, right.context), siblings };
}

/** `newer` knows all that `older` knows, and holds nothing that `older` has seen replaced. */
function isBeyond(newer: StoredObject, older: StoredObject): boolean {
  if (!includesVector(newer.context, older.context)) return false;
  for (const { dot } of newer.siblings) if (covers(older.context, dot) && !holds(older, dot)) return false;
  return true;
}

function holds(object: StoredObject, dot: Dot): boolean {
  for (const sibling of object.siblings) if (sameDot(sibling.dot, dot)) return true;
  return false;
}

/** Keeps, from `at` on, the siblings before `end` that `context` does not know; answers where it stopped. */
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
 * The single sibling of a bucket without siblings: the newest by its dot (`isNewerDot`), whose counter follows the
 * clock and is beyond all that its writer had seen. The context is kept, so the losers stay lost on every replica.
 * An order by the wall clock alone would not do: with clocks apart, replicas could each drop what another one keeps.
 */
export function resolveToNewest(object: StoredObject): StoredObject {
  if (object.siblings.length <= 1) return object;
  const newest = object.siblings.reduce((best, sibling) =>
    isNewerDot(sibling.dot, best.dot) ? sibling : best,
  );
  return { context: object.context, siblings: [newest] };
}

/** The siblings that are values; empty when all that is left is deletions. */
export function liveSiblings(object: StoredObject): readonly Sibling[] {
  return object.siblings.some((sibling) => sibling.tombstone)
    ? object.siblings.filter((sibling) => !sibling.tombstone)
    : object.siblings;
}

/** Same context and same dots: the same knowledge. */
export function sameObject(left: StoredObject, right: StoredObject): boolean {
  if (left === right) return true;
  return (
    left.siblings.length === right.siblings.length &&
    left.context.length === right.context.length &&
    left.siblings.every((sibling, index) => sameDot(sibling.dot, right.siblings[index]?.dot)) &&
    left.context.every((entry, index) => sameDot(entry, right.context[index]))
  );
}

/** Canonical bytes: equal objects have equal bytes. Format version 1. */
export function encodeObject(object: StoredObject): Buffer {
  const writer = new ByteWriter(objectBytes(object));
  writer.u8(formatVersion);
  writeVector(writer, object.context);
  writer.varint(object.siblings.length);
  for (const sibling of object.siblings) writeSibling(writer, sibling);
  return writer.finish();
}

/** Bytes that `encodeObject` takes: room for more, of small objects, would be a good part of all garbage. */
export function objectBytes({ context, siblings }: StoredObject): number {
  let bytes = 1 + varintBytes(context.length) + varintBytes(siblings.length);
  for (const entry of context) bytes += dotBytes(entry);
  for (const sibling of siblings)
    bytes += dotBytes(sibling.dot) + varintBytes(sibling.lastModifiedMs) + contentBytes(sibling);
  return bytes;
}

/**
 * Reads `encodeObject`'s bytes; values are views of them. Throws `BytesError` on anything else. `actors`: for who reads
 * many objects, which the same few actors have written.
 */
export function decodeObject(bytes: Uint8Array, actors?: NameTable): StoredObject {
  const reader = new ByteReader(bytes);
  const version = reader.u8();
  if (version !== formatVersion)
    throw new BytesError(`object format ${version}; this version reads ${formatVersion}`);
  const context = readVector(reader, actors);
  const count = reader.varint();
  if (count === 0 || count > reader.left) throw new BytesError(`${count} siblings in ${reader.left} bytes`);
  // Mostly there is one, and room for one.
  const siblings = [readCovered(reader, context, actors)];
  for (let index = 1; index < count; index++) {
    const sibling = readCovered(reader, context, actors);
    const last = siblings.at(-1);
    if (last !== undefined && compareDots(last.dot, sibling.dot) >= 0)
      throw new BytesError('siblings out of order');
    siblings.push(sibling);
  }
  reader.end();
  return { context, siblings };
}

function readCovered(reader: ByteReader, context: VersionVector, actors: NameTable | undefined): Sibling {
  const sibling = readSibling(reader, actors);
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

/** Reads `encodeContext`'s bytes. Throws `BytesError` on anything else. */
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

/** `[n1.5f:2] {n1.5f:2 "text/plain" 5 bytes}`, for people and goldens. */
export function describeObject(object: StoredObject): string {
  const siblings = object.siblings.map((sibling) => {
    const what = sibling.tombstone ? 'tombstone' : `"${sibling.contentType}" ${sibling.value.length} bytes`;
    return `{${sibling.dot.actor}:${sibling.dot.counter} ${what}}`;
  });
  return [describeVector(object.context), ...siblings].join(' ');
}

function writeSibling(writer: ByteWriter, sibling: Sibling): void {
  writeDot(writer, sibling.dot);
  writer.varint(sibling.lastModifiedMs);
  writeContent(writer, sibling);
}

function readSibling(reader: ByteReader, actors: NameTable | undefined): Sibling {
  const dot = readDot(reader, actors);
  const lastModifiedMs = reader.varint();
  return siblingOf(readContent(reader), dot, lastModifiedMs);
}

/** Field by field: a spread costs several times as much, and every sibling of every object passes here. */
function siblingOf(content: Content, dot: Dot, lastModifiedMs: number): Sibling {
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
