/**
 * The format of `lockstep export`: JSON lines.
 *
 *     {"lockstep_export":1,"taken_at":"2026-11-27T02:00:00.000Z","node":"http://127.0.0.1:8098"}
 *     {"type":"default","bucket":"accounts","key":"ann","siblings":[{"value":"OTA=","headers":{…},"last_modified":"…"}]}
 *     {"end":{"objects":1,"siblings":1,"hash":"64 hexadecimal digits"}}
 *
 * The hash does not depend on the order of the lines: it is the sum, modulo 2^256, of the SHA-256 of each object's
 * names, values and headers (Bellare and Micciancio, "A New Paradigm for Collision-Free Hashing", 1997, AdHash). It
 * detects damage and loss, not forgery. Dates and the order of siblings do not count, since an import makes new ones.
 */
import { createHash } from 'node:crypto';

import { UsageError } from '../exit-codes.ts';
import type { SiblingValue } from './object-client.ts';
import type { ObjectName } from './object-name.ts';

const formatVersion = 1;

/** An object with all of its siblings, as one line. */
export interface ExportedObject extends ObjectName {
  readonly siblings: readonly SiblingValue[];
}

/** The last line's content. */
export interface ExportTotals {
  readonly objects: number;
  readonly siblings: number;
  /** 64 hexadecimal digits. */
  readonly hash: string;
}

/** What a line is. */
export type ExportLine =
  | { readonly kind: 'head' }
  | { readonly kind: 'object'; readonly object: ExportedObject }
  | { readonly kind: 'end'; readonly totals: ExportTotals };

/** The first line. */
export function headLine(node: string, takenAt: Date): string {
  return JSON.stringify({ lockstep_export: formatVersion, taken_at: takenAt.toISOString(), node });
}

/** The line of an object. */
export function objectLine({ type, bucket, key, siblings }: ExportedObject): string {
  const shown = siblings.map(({ value, headers, lastModified }) => ({
    value: value.toString('base64'),
    headers,
    last_modified: lastModified,
  }));
  return JSON.stringify({ type, bucket, key, siblings: shown });
}

/** The last line. */
export function endLine(totals: ExportTotals): string {
  return JSON.stringify({ end: totals });
}

/** Parses a line; `number` counts from 1, for the error. Throws `UsageError` if it is none of the three. */
export function parseLine(text: string, number: number): ExportLine {
  const refuse = (why: string): UsageError => new UsageError(`line ${number}: ${why}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw refuse('it is no JSON; the file is damaged, or was not written by lockstep export');
  }
  if (typeof parsed !== 'object' || parsed === null) throw refuse('it is no JSON object');
  const line = parsed as Readonly<Record<string, unknown>>;
  const { lockstep_export: version, end } = line;
  if (version !== undefined) {
    if (version === formatVersion) return { kind: 'head' };
    throw refuse(`format ${JSON.stringify(version)}; this version of the program reads format ${formatVersion}`);
  }
  if (end !== undefined) return { kind: 'end', totals: end as ExportTotals };
  const { type, bucket, key, siblings } = line;
  if (typeof type !== 'string' || typeof bucket !== 'string' || typeof key !== 'string' || !Array.isArray(siblings))
    throw refuse('an object has the fields type, bucket, key and siblings');
  return { kind: 'object', object: { type, bucket, key, siblings: siblings.map((one) => siblingOf(one, refuse)) } };
}

function siblingOf(given: unknown, refuse: (why: string) => UsageError): SiblingValue {
  const { value, headers, last_modified: lastModified = '' } = (given ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof value !== 'string' || typeof headers !== 'object' || headers === null || typeof lastModified !== 'string')
    throw refuse('a sibling has a value in base64, and headers');
  return { value: Buffer.from(value, 'base64'), headers: headers as Record<string, string>, lastModified };
}

const modulus = 1n << 256n;

/** Counts and hashes the objects of an export, in any order. */
export class ExportTally {
  #objects = 0;
  #siblings = 0;
  #hash = 0n;

  add(object: ExportedObject): void {
    this.#objects += 1;
    this.#siblings += object.siblings.length;
    this.#hash = (this.#hash + BigInt(`0x${hashOf(object)}`)) % modulus;
  }

  get totals(): ExportTotals {
    return {
      objects: this.#objects,
      siblings: this.#siblings,
      hash: this.#hash.toString(16).padStart(64, '0'),
    };
  }
}

/** The object's SHA-256: 64 hexadecimal digits. Equal for the same siblings in any order. */
export function hashOf({ type, bucket, key, siblings }: ExportedObject): string {
  const parts = siblings.map(({ value, headers }) => {
    const sorted = Object.entries(headers).toSorted(([left], [right]) => (left < right ? -1 : 1));
    return createHash('sha256')
      .update(JSON.stringify([...sorted, value.length]))
      .update(value)
      .digest('hex');
  });
  return createHash('sha256')
    .update(JSON.stringify([type, bucket, key, ...parts.sort()]))
    .digest('hex');
}

/** Why the totals differ; undefined if they are equal. */
export function differenceOf(expected: ExportTotals, found: ExportTotals): string | undefined {
  for (const field of ['objects', 'siblings', 'hash'] as const) {
    if (expected[field] !== found[field])
      return `${field}: ${String(expected[field])} expected, ${String(found[field])} found`;
  }
  return undefined;
}
