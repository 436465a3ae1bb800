/**
 * What one node's store holds, known from outside: read off the disk when its store opens, and kept up with by what the
 * node writes to its log. A record counts here from the instant at which it has been written, a little before the node
 * itself lets anybody see it (it syncs first).
 */
import { createHash } from 'node:crypto';

import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey } from '../../engine/base/object-key.ts';
import { segmentHeadBytes, segmentIdentity } from '../../engine/store/record.ts';
import type { LogRecord } from './log-records.ts';
import { readRecords } from './log-records.ts';

export interface HeldVersion {
  readonly seq: number;
  readonly token: number;
  /** Undefined: removed. */
  readonly value: Buffer | undefined;
}

/** Something became another record's successor. */
export interface ShadowChange {
  readonly atUs: number;
  readonly key: PackedKey;
  readonly before: HeldVersion | undefined;
  readonly after: HeldVersion;
}

/** Where the head of a segment says whose it is (engine/store/record.ts). */
const storeIdAt = 12;
const numberAt = 28;
const kindAt = 32;
const logFile = /^store\/\d+\.log$/;
/** Versions of a key that are remembered: a snapshot may be older than the last few writes. */
const versionsMax = 6;

export class ReplicaShadow {
  /** Versions per key, the newest last. */
  readonly #keys = new Map<PackedKey, HeldVersion[]>();
  readonly #parsedTo = new Map<string, number>();
  readonly #now: () => number;
  readonly #changed: (change: ShadowChange) => void;
  /** Keys and the instants of their changes, in order. */
  readonly changes: { readonly atUs: number; readonly key: PackedKey }[] = [];
  /** The disk holds places that cannot be read: what the node knows of them is its own affair. */
  blind = false;
  /** The newest record when the store was opened; ever, the engine's own included. */
  seqAtOpen = 0;
  seqSeen = 0;
  /** 32 hexadecimal digits; undefined until something was written. */
  storeId: string | undefined;

  constructor(now: () => number, changed: (change: ShadowChange) => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /** The store was opened over these files. */
  opened(files: ReadonlyMap<string, Buffer>): void {
    this.#keys.clear();
    this.#parsedTo.clear();
    this.blind = false;
    this.seqSeen = 0;
    this.storeId = undefined;
    for (const [path, content] of files) {
      if (logFile.test(path)) this.#read(path, content, (record) => this.#enter(record));
    }
    this.seqAtOpen = this.seqSeen;
  }

  /** The node has written to its log; `content` is the file up to the end of what it wrote. */
  wrote(path: string, content: Buffer): void {
    if (logFile.test(path)) this.#read(path, content, (record) => this.#follow(record));
  }

  /** The newest version of every key that is there. */
  *held(): Generator<readonly [PackedKey, HeldVersion]> {
    for (const [key, versions] of this.#keys) {
      const last = versions.at(-1);
      if (last?.value !== undefined) yield [key, last];
    }
  }

  newest(key: PackedKey): HeldVersion | undefined {
    return this.#keys.get(key)?.at(-1);
  }

  /** What was the newest at a position of the store; `unknown`: it is too long ago. */
  at(key: PackedKey, position: number): HeldVersion | undefined | 'unknown' {
    const versions = this.#keys.get(key) ?? [];
    const found = versions.findLast(({ seq }) => seq <= position);
    return found === undefined && versions.length >= versionsMax ? 'unknown' : found;
  }

  get keys(): Iterable<PackedKey> {
    return this.#keys.keys();
  }

  #read(path: string, content: Buffer, take: (record: LogRecord) => void): void {
    if (content.length < segmentHeadBytes) return;
    const storeId = content.subarray(storeIdAt, numberAt);
    this.storeId = storeId.toString('hex');
    const kind = content.readUInt32BE(kindAt) === 0 ? 'log' : 'merge';
    const { salt } = segmentIdentity(storeId, content.readUInt32BE(numberAt), kind);
    const from = this.#parsedTo.get(path) ?? segmentHeadBytes;
    if (from >= content.length) return;
    const end = readRecords(content, from, salt, take, () => (this.blind = true));
    this.#parsedTo.set(path, end);
  }

  #enter({ key, token, seq, value }: LogRecord): HeldVersion | undefined {
    this.seqSeen = Math.max(this.seqSeen, seq);
    if (isSystemKey(key)) return undefined;
    if (value === 'damaged') {
      this.blind = true;
      return undefined;
    }
    const versions = this.#keys.get(key) ?? [];
    const last = versions.at(-1);
    // A merge copies records: the same ones, at another place.
    if (last !== undefined && last.seq >= seq) return undefined;
    const version = { seq, token, value: value === undefined ? undefined : Buffer.from(value) };
    versions.push(version);
    if (versions.length > versionsMax) versions.shift();
    this.#keys.set(key, versions);
    return version;
  }

  #follow(record: LogRecord): void {
    const before = this.newest(record.key);
    const after = this.#enter(record);
    if (after === undefined) return;
    const atUs = this.#now();
    this.changes.push({ atUs, key: record.key });
    this.#changed({ atUs, key: record.key, before, after });
  }
}

/** A key's hash in the tree, by the format's own words (engine/aae/entry-hash.ts), as two unsigned lanes. */
export function entryHash(key: PackedKey, value: Buffer): readonly [high: number, low: number] {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(key.length);
  const digest = createHash('sha256').update(length).update(key, 'latin1').update(value).digest();
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)];
}
