/**
 * Counts the batches that an incarnation writes to its store's log, from the bytes on disk (format:
 * engine/storage/log/record.ts). Several writes may be in progress, and each may take several disk calls: a batch
 * counts once all of it has been written.
 */
import { recordContinues, recordSpan } from '../../engine/storage/log/record.ts';
import type { StoreTruth } from '../check/metrics/reconcile/account.ts';

const logFile = /^store\/\d+\.log$/;
const groupMagic = 0x4c475250;
const segmentHeadBytes = 64;
const groupHeadBytes = 40;
const recordHeadBytes = 28;
const identityBytes = groupHeadBytes + recordHeadBytes;
/** Offset in a segment's head of its kind: log or merge output. */
const kindAt = 32;

/** Identities of a node's batches, by the incarnation that first wrote them. */
export class KnownBatches {
  readonly lives = new Map<string, number>();
  /** Whether each file is a merge output, by its head when it was written. */
  readonly #merges = new Map<string, boolean>();
  /** The node's disk was rolled back: identical batches may be written a second time. */
  rolledBack = false;

  /** Whether the file written to is a merge output; its head may have rotted since it was written. */
  isMerge(path: string, content: Buffer, from: number): boolean {
    if (from < segmentHeadBytes) this.#merges.set(path, saysMerge(content));
    return this.#merges.get(path) ?? saysMerge(content);
  }
}

/** Sums of one incarnation's log writes: batches, and bytes of keys and values. */
export class StoreObserver {
  readonly #life: number;
  readonly #known: KnownBatches;
  /** Where a write ended within a batch: the batch's place, by the place where the rest will be written. */
  readonly #parts = new Map<string, number>();
  /** Offsets at which a write of new batches begins, and the number of bytes that it is to write. */
  readonly #begun = new Map<string, number>();
  /** Offsets at which a write that the disk cut short will continue, also between two batches. */
  readonly #continued = new Set<string>();
  #batches = 0;
  #contentBytes = 0;
  #flushes = 0;
  #repeated = 0;
  #repeatedBytes = 0;

  /** `known`: batches of the node's earlier incarnations; a recovery may write the last of them again. */
  constructor(life: number, known: KnownBatches) {
    this.#life = life;
    this.#known = known;
  }

  get truth(): StoreTruth {
    return {
      batches: this.#batches,
      contentBytes: this.#contentBytes,
      flushes: this.#flushes,
      repeated: this.#repeated,
      repeatedBytes: this.#repeatedBytes,
    };
  }

  /** A write begins: its batches are this incarnation's, or repeat an earlier one's. */
  writes(path: string, chunks: readonly Uint8Array[], offset: number): void {
    if (!logFile.test(path)) return;
    const content = Buffer.concat(chunks);
    const goesOn = this.#continued.delete(`${path} ${offset}`);
    if (this.#isOurs(content, 0) && !goesOn) this.#begun.set(`${path} ${offset}`, content.length);
    for (let at = 0, bytes = bytesAt(content, 0); bytes > 0; bytes = bytesAt(content, at)) {
      this.#isOurs(content, at);
      at += bytes;
    }
  }

  /** Bytes from `from` to the end of `content` have been written. */
  wrote(path: string, content: Buffer, from: number): void {
    if (!logFile.test(path) || this.#known.isMerge(path, content, from)) return;
    const part = this.#parts.get(`${path} ${from}`);
    this.#parts.delete(`${path} ${from}`);
    const wanted = this.#begun.get(`${path} ${from}`);
    if (wanted !== undefined) {
      this.#begun.delete(`${path} ${from}`);
      this.#flushes += 1;
      if (content.length - from < wanted) this.#continued.add(`${path} ${content.length}`);
    }
    let at = part ?? from;
    for (let bytes = bytesAt(content, at); bytes > 0; bytes = bytesAt(content, at)) {
      if (at + bytes > content.length) break;
      if (this.#isOurs(content, at)) this.#count(content, at);
      else if (this.#known.rolledBack) {
        this.#repeated += batchesIn(content, at);
        this.#repeatedBytes += contentBytesOf(content, at);
      }
      at += bytes;
    }
    if (at < segmentHeadBytes) return;
    if (at < content.length && (isBatch(content, at) || content.length - at < groupHeadBytes)) {
      this.#parts.set(`${path} ${content.length}`, at);
    }
  }

  /** A complete batch head lies there, and this incarnation is the first to write that batch. */
  #isOurs(content: Buffer, at: number): boolean {
    if (!isBatch(content, at) || at + identityBytes > content.length) return false;
    const identity = identityOf(content, at);
    const life = this.#known.lives.get(identity) ?? this.#life;
    this.#known.lives.set(identity, life);
    return life === this.#life;
  }

  #count(content: Buffer, at: number): void {
    this.#batches += batchesIn(content, at);
    this.#contentBytes += contentBytesOf(content, at);
  }
}

/** Bytes of the keys and values of the batch at that offset. */
function contentBytesOf(content: Buffer, at: number): number {
  return content.readUInt32BE(at + 12) - content.readUInt32BE(at + 16) * recordHeadBytes;
}

/**
 * Number of batches in the group: batches of one flush may share its head. Each begins with a record that does not
 * continue the previous one.
 */
function batchesIn(content: Buffer, at: number): number {
  const end = at + bytesAt(content, at);
  let batches = 0;
  for (let place = at + groupHeadBytes; place < end;) {
    if (!recordContinues(content, place)) batches += 1;
    const span = recordSpan(content, place, end);
    if (span === 0) break;
    place += span;
  }
  return batches;
}

/** A batch's identity: the head gives offset and number, the first record the content. */
function identityOf(content: Buffer, at: number): string {
  return content.toString('latin1', at, at + identityBytes);
}

function saysMerge(content: Buffer): boolean {
  return content.length >= segmentHeadBytes && content.readUInt32BE(kindAt) !== 0;
}

function isBatch(content: Buffer, at: number): boolean {
  return at + 4 <= content.length && content.readUInt32BE(at) === groupMagic;
}

/** Length in bytes that the batch at that offset states; 0 if there is none. */
function bytesAt(content: Buffer, at: number): number {
  if (!isBatch(content, at) || at + groupHeadBytes > content.length) return 0;
  return groupHeadBytes + content.readUInt32BE(at + 12);
}
