/**
 * What anti-entropy asks of the store beyond reading: which tokens changed, and two numbers per key, a fingerprint of
 * its stored value, that live with the key until its next record. They cost 8 bytes a key and are not durable.
 *
 * The engine's own records (`systemKey`) have no fingerprints: they are no replica's business.
 */
import { assert } from '../../base/assert.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { KeyDirectory } from './key-directory.ts';
import type { ValueVisitor } from '../recovery/rescan.ts';

/** Hears of every token under which something changed: written, removed, or found unreadable. */
export type ChangeListener = (token: number) => void;

/** Is shown a key: its token, its fingerprint (both 0: not known), its sequence number, and its name when asked for. */
export type FingerprintVisitor = (
  token: number,
  high: number,
  low: number,
  seq: number,
  key: () => PackedKey,
) => void;

export class Fingerprints {
  /**
   * Shows every value that the disk holds, in the order of the log; see storage/recovery/rescan.ts. Rejects with `StorageFailed` when the
   * disk refuses to read.
   */
  readonly rescan: (visit: ValueVisitor, rest: (values: number) => Promise<void>) => Promise<void>;
  readonly #keys: KeyDirectory;
  /** What has been answered is in the key directory when it returns. */
  readonly #catchUp: () => void;
  #listener: ChangeListener | undefined;
  #lastSeq: number;

  constructor(
    keys: KeyDirectory,
    lastSeq: number,
    catchUp: () => void,
    rescan: (visit: ValueVisitor, rest: (values: number) => Promise<void>) => Promise<void>,
  ) {
    this.rescan = (visit, rest) => {
      catchUp();
      return rescan(visit, rest);
    };
    this.#keys = keys;
    this.#catchUp = catchUp;
    this.#lastSeq = lastSeq;
  }

  /** The store's position: the sequence number of the newest record that reads can see. */
  get lastSeq(): number {
    this.#catchUp();
    return this.#lastSeq;
  }

  /** Sets the one listener. It is called within the store's own work and must be quick. */
  listen(listener: ChangeListener): void {
    assert(this.#listener === undefined, 'one room listens');
    this.#listener = listener;
  }

  /** The store has applied a record; in the order of sequence numbers. */
  applied(seq: number): void {
    if (seq > this.#lastSeq) this.#lastSeq = seq;
  }

  /** What was known under the token (it may be given as a signed integer) holds no more. */
  changed(token: number): void {
    this.#listener?.(token >>> 0);
  }

  /** Shows every key of the tokens `first` to `last` (both included, `first` <= `last`), in no order. */
  visit(first: number, last: number, visitor: FingerprintVisitor): void {
    this.#catchUp();
    const keys = this.#keys;
    let id = 0;
    const key = (): PackedKey => keys.keyOf(id);
    for (id of keys.idsOfTokens((first - 1) >>> 0, last)) {
      if (keys.isSystem(id)) continue;
      visitor(keys.tokenOf(id), keys.markHighOf(id), keys.markLowOf(id), keys.seqOf(id), key);
    }
  }

  /** How far from `first` on, at most to `last`, no key is held: the last such token; `first - 1` when that is not known. */
  emptyThrough(first: number, last: number): number {
    this.#catchUp();
    return this.#keys.emptyThrough(first, last);
  }

  /** Remembers the fingerprint of the value that the key has had since `seq`; nothing when it has a newer one. */
  remember(key: PackedKey, seq: number, high: number, low: number): void {
    this.#catchUp();
    const id = this.#keys.find(key);
    if (id !== 0 && this.#keys.seqOf(id) === seq) this.#keys.setMark(id, high, low);
  }

  /** The same for a key by its number in the directory, at an instant at which its value is known to be the newest. */
  rememberHeld(id: number, high: number, low: number): void {
    this.#keys.setMark(id, high, low);
  }

  /** Keys held, those of the engine included. */
  get keyCount(): number {
    this.#catchUp();
    return this.#keys.size;
  }

  /** Forgets the fingerprints of the tokens `first` to `last`: the values will be read again. */
  forget(first: number, last: number): void {
    this.#catchUp();
    for (const id of this.#keys.idsOfTokens((first - 1) >>> 0, last)) this.#keys.setMark(id, 0, 0);
  }
}
