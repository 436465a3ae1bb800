/**
 * The store's interface for anti-entropy beyond reading: which tokens changed, and a fingerprint of each key's value
 * (two numbers), which is valid until the key's next record. A fingerprint takes 8 bytes a key and is not durable.
 *
 * The engine's own records (`systemKey`) have no fingerprints: they are not replicated.
 */
import { assert } from '../../base/assert.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { KeyDirectory } from './key-directory.ts';
import type { ValueVisitor } from '../recovery/rescan.ts';

/** Called with every token under which a key was written, removed, or found unreadable. */
export type ChangeListener = (token: number) => void;

/**
 * Called with a key's token, its fingerprint (both 0: unknown), its sequence number, and a function that returns its
 * name.
 */
export type FingerprintVisitor = (
  token: number,
  high: number,
  low: number,
  seq: number,
  key: () => PackedKey,
) => void;

/** The fingerprints of one store. */
export class Fingerprints {
  /**
   * Visits every value on the disk, in the order of the log (`recovery/rescan.ts`). Rejects with `StorageFailed` if the
   * disk fails.
   */
  readonly rescan: (visit: ValueVisitor, rest: (values: number) => Promise<void>) => Promise<void>;
  readonly #keys: KeyDirectory;
  /** Applies all answered writes to the key directory before it returns. */
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

  /** Sets the only listener. It is called within the store's own work and must be quick. */
  listen(listener: ChangeListener): void {
    assert(this.#listener === undefined, 'one room listens');
    this.#listener = listener;
  }

  /** The store has applied a record. Called in the order of sequence numbers. */
  applied(seq: number): void {
    if (seq > this.#lastSeq) this.#lastSeq = seq;
  }

  /** A key of the token has changed; the token may be given as a signed integer. */
  changed(token: number): void {
    this.#listener?.(token >>> 0);
  }

  /** Visits every key of the tokens `first` to `last` (both included, `first` <= `last`), in no order. */
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

  /**
   * The same, with a `pause` after each `partKeys` keys. Keys that are written or removed meanwhile may be visited or
   * not; all others are visited once.
   */
  async visitInParts(
    first: number,
    last: number,
    visitor: FingerprintVisitor,
    partKeys: number,
    pause: () => Promise<void>,
  ): Promise<void> {
    this.#catchUp();
    const keys = this.#keys;
    let id = 0;
    const key = (): PackedKey => keys.keyOf(id);
    let visited = 0;
    for (id of keys.idsOfTokens((first - 1) >>> 0, last)) {
      if (!keys.isSystem(id))
        visitor(keys.tokenOf(id), keys.markHighOf(id), keys.markLowOf(id), keys.seqOf(id), key);
      visited += 1;
      if (visited % partKeys === 0) await pause();
    }
  }

  /**
   * The last token, at most `last`, up to which there is certainly no key from `first` on; `first - 1` if that is
   * unknown.
   */
  emptyThrough(first: number, last: number): number {
    this.#catchUp();
    return this.#keys.emptyThrough(first, last);
  }

  /** Stores the fingerprint of the value that the key has had since `seq`; does nothing if it has a newer one. */
  remember(key: PackedKey, seq: number, high: number, low: number): void {
    this.#catchUp();
    const id = this.#keys.find(key);
    if (id !== 0 && this.#keys.seqOf(id) === seq) this.#keys.setMark(id, high, low);
  }

  /** Stores a fingerprint by the key's id, at an instant at which its value is known to be the newest. */
  rememberHeld(id: number, high: number, low: number): void {
    this.#keys.setMark(id, high, low);
  }

  /** Number of keys, those of the engine included. */
  get keyCount(): number {
    this.#catchUp();
    return this.#keys.size;
  }

  /**
   * Drops the fingerprints of the tokens `first` to `last`, so that their values are read again. Returns the number of
   * keys.
   */
  forget(first: number, last: number): number {
    this.#catchUp();
    let count = 0;
    for (const id of this.#keys.idsOfTokens((first - 1) >>> 0, last)) {
      this.#keys.setMark(id, 0, 0);
      count += 1;
    }
    return count;
  }
}
