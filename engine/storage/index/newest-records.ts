/**
 * Makes durable records visible to reads: in the order of sequence numbers, the records of a flush replace the older
 * ones of their keys in the key directory, in the value cache and in the fingerprints of anti-entropy.
 */
import { failAssertion } from '../../base/assert.ts';
import { isSystemAt } from '../../base/object-key.ts';
import type { Catalog } from '../log/segment-catalog.ts';
import type { Chunk } from '../log/chunks.ts';
import type { Fingerprints } from './fingerprints.ts';
import type { KeyDirectory } from './key-directory.ts';
import {
  groupBodyBytes,
  groupHeadBytes,
  keyBytesInView,
  recordBytes,
  recordHeadBytes,
  removalMark,
  seqInView,
  tokenBitsInView,
  valueBytesInView,
} from '../log/record.ts';
import type { Segment } from '../log/segment.ts';
import type { ValueCache } from './value-cache.ts';

/** Values of larger batches are not cached: a bulk load would evict what is read. */
const cachedGroupBytesMax = 64 * 1024;

/** Applies flushes to the indexes of one store. */
export class NewestRecords {
  readonly #catalog: Catalog;
  readonly #keys: KeyDirectory;
  readonly #cache: ValueCache;
  readonly #fingerprints: Fingerprints;

  constructor(catalog: Catalog, keys: KeyDirectory, cache: ValueCache, fingerprints: Fingerprints) {
    this.#catalog = catalog;
    this.#keys = keys;
    this.#cache = cache;
    this.#fingerprints = fingerprints;
  }

  /** Applies the groups of `chunks`, which are durable in `segment`. */
  apply(segment: Segment, chunks: readonly Chunk[]): void {
    for (const chunk of chunks) {
      if (chunk.fileAt + chunk.used > segment.length)
        failAssertion('records are within the segment', segment.length, chunk.fileAt + chunk.used);
      let record = 0;
      for (let group = 0; group < chunk.used;) {
        const end = group + groupHeadBytes + groupBodyBytes(chunk.buffer, group);
        if (end > chunk.used) failAssertion('a group ends within its chunk', chunk.used, end);
        const cached = end - group <= cachedGroupBytesMax;
        for (let at = group + groupHeadBytes; at < end;)
          at = this.#apply(segment, chunk, at, chunk.hashes.at(record++), cached);
        group = end;
      }
    }
    // Once a flush, so that a record costs no more.
    const { number, liveBytes, removalBytes, length } = segment;
    if (liveBytes < 0 || liveBytes + removalBytes > length)
      failAssertion('live bytes are within the segment', number, liveBytes, removalBytes, length);
  }

  /** Applies the record at `at` of the chunk; returns where the next one begins. */
  #apply(
    segment: Segment,
    { buffer, view, fileAt }: Chunk,
    at: number,
    hash: number,
    cached: boolean,
  ): number {
    const keys = this.#keys;
    const keyBytes = keyBytesInView(view, at);
    const valueBytes = valueBytesInView(view, at);
    const seq = seqInView(view, at);
    const keyAt = at + recordHeadBytes;
    const span = recordBytes(keyBytes, valueBytes);
    if (seq <= segment.seqMax) failAssertion('sequence numbers of the log ascend', segment.seqMax, seq);
    segment.noteSeq(seq);
    const token = tokenBitsInView(view, at);
    this.#fingerprints.applied(seq);
    let id = keys.findHashed(hash, view, keyAt, keyBytes);
    if (!isSystemAt(buffer, keyAt)) {
      this.#fingerprints.changed(token);
      // The key's previous record may have another token.
      const before = id === 0 ? token : keys.tokenOf(id);
      if (((before ^ token) | 0) !== 0) this.#fingerprints.changed(before);
    }
    if (id !== 0) this.#bury(id, keyBytes, segment);
    if (valueBytes === removalMark) {
      if (id !== 0) {
        this.#cache.forget(id);
        keys.remove(id);
      }
      segment.removalBytes += span;
      return at + span;
    }
    if (id === 0) id = keys.add(hash, buffer, view, keyAt, keyBytes, token);
    else keys.setToken(id, token);
    keys.place(id, segment.number, fileAt + at, valueBytes, seq, 'live');
    segment.liveBytes += span;
    if (cached) this.#cache.put(id, view, keyAt + keyBytes, valueBytes);
    else this.#cache.forget(id);
    return at + span;
  }

  /** The record that the key's row points at is dead. `next`: the segment of the record that replaces it. */
  #bury(id: number, keyBytes: number, next: Segment): void {
    const span = recordBytes(keyBytes, this.#keys.valueBytesOf(id));
    const number = this.#keys.segmentOf(id);
    const segment = number === next.number ? next : this.#catalog.mustFind(number);
    segment.liveBytes -= span;
    if (segment.lostBytes > 0 && this.#keys.stateOf(id) === 'damaged') segment.lostBytes -= span;
    if (segment.liveBytes < 0)
      failAssertion('live bytes are not negative', segment.number, segment.liveBytes);
  }
}
