/**
 * What a life writes to its store's log, read off the disk: batches as they lie there (the format of a group:
 * engine/storage/log/record.ts). Several writes may be under way at once, and each may take several calls of the disk: a batch
 * counts when all of it has been written.
 */
import { recordContinues, recordSpan } from '../../engine/storage/log/record.ts';
import type { StoreTruth } from '../check/reconcile/account.ts';

const logFile = /^store\/\d+\.log$/;
const groupMagic = 0x4c475250;
const segmentHeadBytes = 64;
const groupHeadBytes = 40;
const recordHeadBytes = 28;
const identityBytes = groupHeadBytes + recordHeadBytes;
/** Where a segment's head says that it is copies of others (a merge), not a log. */
const kindAt = 32;

/** Identities of a node's batches, by the life that first wrote them. */
export class KnownBatches {
  readonly lives = new Map<string, number>();
  /** Files that hold copies of others (merges), or not, by what their heads said when they were written. */
  readonly #merges = new Map<string, boolean>();
  /** The node's disk became an older one: what was written after it may be written once more, in the same words. */
  rolledBack = false;

  /** Whether what is written to a file are copies. Its head may have rotted since it was written. */
  isMerge(path: string, content: Buffer, from: number): boolean {
    if (from < segmentHeadBytes) this.#merges.set(path, saysMerge(content));
    return this.#merges.get(path) ?? saysMerge(content);
  }
}

export class StoreObserver {
  readonly #life: number;
  readonly #known: KnownBatches;
  /** Where a write ended within a batch: the batch's place, by the place where the rest will be written. */
  readonly #parts = new Map<string, number>();
  /** Places where a write of new batches begins, and how many bytes it is to write. */
  readonly #begun = new Map<string, number>();
  /** Places where a write that a disk cut short will go on; between two batches, too. */
  readonly #continued = new Set<string>();
  #batches = 0;
  #contentBytes = 0;
  #flushes = 0;
  #repeated = 0;
  #repeatedBytes = 0;

  /** `known`: what earlier lives of the node wrote; a recovery may write the last of it once more. */
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

  /** A write begins: whatever becomes of it, its batches are this life's, or an earlier one's again. */
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

  /** A whole head lies there, of a batch that this life is the first to write. */
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

/** Keys and values of the batch that lies there. */
function contentBytesOf(content: Buffer, at: number): number {
  return content.readUInt32BE(at + 12) - content.readUInt32BE(at + 16) * recordHeadBytes;
}

/** One flush's batches may share a group's head: each begins with a record that does not continue the one before. */
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

/** The head names the batch's place and number, its first record the content. */
function identityOf(content: Buffer, at: number): string {
  return content.toString('latin1', at, at + identityBytes);
}

function saysMerge(content: Buffer): boolean {
  return content.length >= segmentHeadBytes && content.readUInt32BE(kindAt) !== 0;
}

function isBatch(content: Buffer, at: number): boolean {
  return at + 4 <= content.length && content.readUInt32BE(at) === groupMagic;
}

/** Bytes of the batch that lies there, as far as it says; 0 where none does. */
function bytesAt(content: Buffer, at: number): number {
  if (!isBatch(content, at) || at + groupHeadBytes > content.length) return 0;
  return groupHeadBytes + content.readUInt32BE(at + 12);
}
