/**
 * Removes from the store the keys of former epochs of flushed buckets (`buckets/epochs.ts`), in the background and at a
 * bounded pace. No request names them any more, so they leave no tombstone, and no other node need agree.
 *
 * A walk follows each new epoch, and each write in a former one: what a replica had accepted, or a branch had voted for,
 * before this node knew of the flush. A key that cannot be removed yet (a transaction holds it, or the store is full) is
 * met again by a later walk. A walk meets what the store shows: it begins once no write of a former epoch is on its way
 * to the disk, and a write that comes later is followed by another walk.
 */
import { Deferred } from '../base/deferred.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Replica } from './replica.ts';

/** What the removal works with. */
export interface FlushedKeysDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  /** The node's keys of clients, of all epochs. */
  readonly keys: () => Iterable<PackedKey>;
  readonly tokenOf: (key: PackedKey) => Token | undefined;
  /** Whether the key's bucket was flushed since. */
  readonly isFormer: (key: PackedKey) => boolean;
  /** Whether any bucket was ever flushed. */
  readonly isAny: () => boolean;
  readonly replica: Pick<Replica, 'discard' | 'watch' | 'isWriting'>;
}

/** Keys that are removed at once, and the pause after them. */
const windowMax = 64;
const restUs = 1000;
/** Keys that are visited between two pauses, which let other work run. */
const glanceCount = 1000;
/**
 * The wait before a walk, and before it is put off again because a write of a former epoch is on its way to the disk.
 * Several writes, and several flushes, share one walk.
 */
const gatherUs = 100_000;
/**
 * The wait before a walk for keys that could not be removed. It doubles with each walk that removes none: a record that
 * cannot be read any more stays until its segment is compacted.
 */
const againUsMin = 2_000_000;
const againUsMax = 600_000_000;

/** The removal of flushed keys on one node. */
export class FlushedKeys {
  readonly #parts: FlushedKeysDependencies;
  #timer: Timer | undefined;
  #isStarted = false;
  #isStopped = false;
  #isWalking = false;
  /** A walk is wanted that has not begun. */
  #isWanted = false;
  #againUs = againUsMin;
  #work: Promise<void> = Promise.resolve();
  /** How many keys were removed. */
  removed = 0;

  constructor(parts: FlushedKeysDependencies) {
    this.#parts = parts;
    parts.replica.watch((key) => {
      if (parts.isFormer(key)) this.want();
    });
  }

  /** Removes from now on; what an earlier incarnation has left, too. */
  start(): void {
    this.#isStarted = true;
    if (this.#isWanted || this.#parts.isAny()) this.want();
  }

  /** Stops. Resolves when no removal is under way. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    return this.#work;
  }

  /** A new epoch has begun, or a key of a former one was written: walks the store soon. */
  want(): void {
    this.#isWanted = true;
    if (this.#isStarted) this.#arm(gatherUs);
  }

  #arm(waitUs: number): void {
    if (this.#isStopped || this.#isWalking || this.#timer !== undefined) return;
    this.#timer = this.#parts.io.clock.after(waitUs, () => {
      this.#timer = undefined;
      if (this.#parts.replica.isWriting(this.#parts.isFormer)) {
        sometimes('flush.walk-put-off');
        this.#arm(gatherUs);
        return;
      }
      this.#isWalking = true;
      this.#isWanted = false;
      const over = new Deferred<void>();
      this.#work = over.promise;
      this.#parts.io.spawn('flush.cleanup', async () => {
        try {
          const before = this.removed;
          const isDone = await this.#walk();
          this.#isWalking = false;
          if (isDone || this.removed > before) this.#againUs = againUsMin;
          if (this.#isWanted) this.#arm(gatherUs);
          else if (!isDone) {
            this.#arm(this.#againUs);
            this.#againUs = Math.min(2 * this.#againUs, againUsMax);
          }
        } finally {
          over.resolve();
        }
      });
    });
  }

  /** Visits every key. Resolves with true if none of a former epoch is left, as far as the walk has seen. */
  async #walk(): Promise<boolean> {
    const { io, keys, isFormer } = this.#parts;
    const before = this.removed;
    let isDone = true;
    let visited = 0;
    let window: PackedKey[] = [];
    for (const key of keys()) {
      visited += 1;
      if (visited % glanceCount === 0) await sleep(io.clock, 1);
      if (this.#isStopped) return true;
      if (!isFormer(key)) continue;
      if (window.push(key) < windowMax) continue;
      isDone = (await this.#removeAll(window)) && isDone;
      window = [];
      await sleep(io.clock, restUs);
    }
    isDone = (await this.#removeAll(window)) && isDone;
    const removed = this.removed - before;
    if (removed > 0) {
      sometimes('flush.keys-removed');
      io.log.event('info', 'flush.keys.removed', { removed });
    }
    return isDone;
  }

  async #removeAll(keys: readonly PackedKey[]): Promise<boolean> {
    const gone = await Promise.all(keys.map((key) => this.#remove(key)));
    return gone.every((one) => one);
  }

  #remove(key: PackedKey): Promise<boolean> {
    const token = this.#parts.tokenOf(key);
    if (token === undefined) return Promise.resolve(true);
    const done = new Deferred<boolean>();
    this.#parts.replica.discard(
      key,
      token,
      () => true,
      (gone) => {
        if (gone) this.removed += 1;
        done.resolve(gone);
      },
    );
    return done.promise;
  }
}
