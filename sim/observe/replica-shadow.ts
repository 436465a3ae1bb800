/**
 * What one node's store holds, known from outside: read off the disk when its store opens, and kept up with by what the
 * node writes to its log. A record counts here from the instant at which it has been written, a little before the node
 * itself lets anybody see it (it syncs first).
 */
import { hash } from 'node:crypto';

import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey } from '../../engine/base/object-key.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { LogRecord, SegmentTail } from './log-records.ts';
import { tailOf } from './log-records.ts';
import { logsInUse } from './segments-in-use.ts';

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

const logFile = /^store\/\d+\.log$/;
/** Versions of a key that are remembered: a snapshot may be older than the last few writes. */
const versionsMax = 6;

export class ReplicaShadow {
  /** Versions per key, the newest last. */
  readonly #keys = new Map<PackedKey, HeldVersion[]>();
  readonly #tails = new Map<string, SegmentTail>();
  readonly #now: () => number;
  readonly #changed: (change: ShadowChange) => void;
  /** Keys and the instants of their changes, in order. */
  readonly changes: { readonly atUs: number; readonly key: PackedKey }[] = [];
  /** The newest record when the store was opened; ever, the engine's own included. */
  seqAtOpen = 0;
  seqSeen = 0;
  #isOpen = false;
  /** 32 hexadecimal digits; undefined until something was written. */
  storeId: string | undefined;

  constructor(now: () => number, changed: (change: ShadowChange) => void) {
    this.#now = now;
    this.#changed = changed;
  }

  /**
   * The disk holds places that cannot be read: what the node knows of them is its own affair. A batch of which only
   * parts are written yet is such a place as long as they are missing.
   */
  get blind(): boolean {
    return [...this.#tails.values()].some((tail) => tail.hasHole);
  }

  /** The store was opened over these files. */
  opened(files: ReadonlyMap<string, Buffer>): void {
    this.#isOpen = true;
    this.#keys.clear();
    this.#tails.clear();
    this.seqSeen = 0;
    this.storeId = undefined;
    for (const [path, content] of logsInUse(files, 'store')) {
      this.#read(path, content, 0, (record) => this.#enter(record));
    }
    this.seqAtOpen = this.seqSeen;
  }

  /**
   * The life of the node is over. What the next one writes before its store is open copies what it found, and the disk
   * may have been exchanged in between: nothing of that follows what was held here.
   */
  closed(): void {
    this.#isOpen = false;
  }

  /** The node has written to its log, from `from` on; `content` is the whole file. */
  wrote(path: string, content: Buffer, from: number): void {
    if (this.#isOpen && logFile.test(path)) this.#read(path, content, from, (record) => this.#follow(record));
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

  #read(path: string, content: Buffer, from: number, take: (record: LogRecord) => void): void {
    if (content.length < segmentHeadBytes) return;
    const known = this.#tails.get(path);
    const tail = tailOf(content, known);
    if (tail === undefined) return;
    this.storeId = tail.head.storeId;
    if (tail !== known) this.#tails.set(path, tail);
    tail.read(content, from, take);
  }

  #enter({ key, token, seq, value }: LogRecord): HeldVersion | undefined {
    this.seqSeen = Math.max(this.seqSeen, seq);
    if (isSystemKey(key)) return undefined;
    // Its batch is a hole.
    if (value === 'damaged') return undefined;
    const versions = this.#keys.get(key) ?? [];
    const last = versions.at(-1);
    // A merge copies records: the same ones, at another place. What lay behind a hole comes again, or late.
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

/** A key's hash in the tree, by the format's own words (engine/anti-entropy/entry-hash.ts), as two unsigned lanes. */
export function entryHash(key: PackedKey, value: Buffer): readonly [high: number, low: number] {
  const bytes = Buffer.allocUnsafe(4 + key.length + value.length);
  bytes.writeUInt32BE(key.length);
  bytes.write(key, 4, 'latin1');
  value.copy(bytes, 4 + key.length);
  const digest = hash('sha256', bytes, 'buffer');
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)];
}
