/**
 * Reconstructs the contents of one node's store from outside: from the disk when the store opens, then from every write
 * to its log. A record counts from the instant at which it has been written, slightly before the node makes it visible
 * (it syncs first).
 */
import { hash } from 'node:crypto';

import type { PackedKey } from '../../engine/base/object-key.ts';
import { isSystemKey } from '../../engine/base/object-key.ts';
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import type { LogRecord, SegmentHead, SegmentTail } from './log-records.ts';
import { tailOf } from './log-records.ts';
import { logsInUse } from './segments-in-use.ts';

/** One version of a key in a store: `seq` is its store sequence number, `token` its ring position. */
export interface HeldVersion {
  readonly seq: number;
  readonly token: number;
  /** Undefined: removed. */
  readonly value: Buffer | undefined;
}

/** A record that replaces another record of the same key. */
export interface ShadowChange {
  readonly atUs: number;
  readonly key: PackedKey;
  readonly before: HeldVersion | undefined;
  readonly after: HeldVersion;
}

const logFile = /^store\/\d+\.log$/;
/** Versions remembered per key: a snapshot may be older than the last few writes. */
const versionsMax = 6;

/** The contents of one node's store, with the newest few versions of every key. */
export class ReplicaShadow {
  /** Versions per key, the newest last. */
  readonly #keys = new Map<PackedKey, HeldVersion[]>();
  readonly #tails = new Map<string, SegmentTail>();
  readonly #now: () => number;
  readonly #changed: (change: ShadowChange) => void;
  readonly #ofEngine: ((record: LogRecord) => void) | undefined;
  /** Changed keys with the virtual times of their changes, in order. */
  readonly changes: { readonly atUs: number; readonly key: PackedKey }[] = [];
  /** Sequence number of the newest record when the store opened, the engine's system keys included. */
  seqAtOpen = 0;
  seqSeen = 0;
  #isOpen = false;
  /** 32 hexadecimal digits; undefined until the store has written something. */
  storeId: string | undefined;

  /** `ofEngine` receives the records of the engine's own, also those that the store holds when it opens. */
  constructor(
    now: () => number,
    changed: (change: ShadowChange) => void,
    ofEngine?: (record: LogRecord) => void,
  ) {
    this.#now = now;
    this.#changed = changed;
    this.#ofEngine = ofEngine;
  }

  /**
   * The disk holds unreadable places, so the shadow cannot tell what the node knows of them. A batch that is partly
   * written is such a place until it is complete.
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
    for (const [path, content, head] of logsInUse(files, 'store')) {
      this.#read(path, content, 0, (record) => this.#enter(record), head);
    }
    this.seqAtOpen = this.seqSeen;
  }

  /**
   * The incarnation is over. Before its store opens, the next one writes copies of what it found, and the disk may have
   * been exchanged in between; those records do not follow the contents recorded here.
   */
  closed(): void {
    this.#isOpen = false;
  }

  /** The node wrote to its log from offset `from` on; `content` is the whole file. */
  wrote(path: string, content: Buffer, from: number): void {
    if (this.#isOpen && logFile.test(path)) this.#read(path, content, from, (record) => this.#follow(record));
  }

  /** The newest version of every key that exists. */
  *held(): Generator<readonly [PackedKey, HeldVersion]> {
    for (const [key, versions] of this.#keys) {
      const last = versions.at(-1);
      if (last?.value !== undefined) yield [key, last];
    }
  }

  newest(key: PackedKey): HeldVersion | undefined {
    return this.#keys.get(key)?.at(-1);
  }

  /** The version that was newest at a store position; `unknown` if it is no longer remembered. */
  at(key: PackedKey, position: number): HeldVersion | undefined | 'unknown' {
    const versions = this.#keys.get(key) ?? [];
    const found = versions.findLast(({ seq }) => seq <= position);
    return found === undefined && versions.length >= versionsMax ? 'unknown' : found;
  }

  get keys(): Iterable<PackedKey> {
    return this.#keys.keys();
  }

  #read(
    path: string,
    content: Buffer,
    from: number,
    take: (record: LogRecord) => void,
    head?: SegmentHead,
  ): void {
    if (content.length < segmentHeadBytes) return;
    const known = this.#tails.get(path);
    const tail = tailOf(content, known, head);
    if (tail === undefined) return;
    this.storeId = tail.head.storeId;
    if (tail !== known) this.#tails.set(path, tail);
    tail.read(content, from, take);
  }

  #enter(record: LogRecord): HeldVersion | undefined {
    const { key, token, seq, value } = record;
    this.seqSeen = Math.max(this.seqSeen, seq);
    if (isSystemKey(key)) {
      this.#ofEngine?.(record);
      return undefined;
    }
    // Its batch is a hole.
    if (value === 'damaged') return undefined;
    const versions = this.#keys.get(key) ?? [];
    const last = versions.at(-1);
    // A merge copies records to another place. Records after a hole are read again, or late.
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

/**
 * A key's hash in the tree, computed independently of the engine (format: engine/anti-entropy/entry-hash.ts), as two
 * unsigned 32-bit lanes.
 */
export function entryHash(key: PackedKey, value: Buffer): readonly [high: number, low: number] {
  const bytes = Buffer.allocUnsafe(4 + key.length + value.length);
  bytes.writeUInt32BE(key.length);
  bytes.write(key, 4, 'latin1');
  value.copy(bytes, 4 + key.length);
  const digest = hash('sha256', bytes, 'buffer');
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)];
}
