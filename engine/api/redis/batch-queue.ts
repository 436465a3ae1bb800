/**
 * Queues batches that name the same keys at this node, so that they do not compete for the keys' locks. While a batch is
 * under way, those that share a key with it wait. When it has ended, those that waited run as one group: one
 * transaction with the commands of each, in the order of arrival. So twelve clients that change the same three keys
 * cost this node two transactions, not twelve that abort each other. Only nodes compete then.
 *
 * A batch that depends on keys under WATCH has a group to itself.
 */
import type { PackedKey } from '../../base/object-key.ts';
import type { Io } from '../../io/io.ts';

/** A batch as the queue sees it. */
export interface QueuedBatch {
  /** Distinct keys, at least one. */
  readonly keys: readonly PackedKey[];
  /** Whether it may share a transaction with others. */
  readonly isSociable: boolean;
}

/** The queue of one node's batches. */
export class BatchQueue<T extends QueuedBatch> {
  readonly #io: Pick<Io, 'spawn'>;
  readonly #run: (group: readonly T[]) => Promise<void>;
  /** The most keys of a group. */
  readonly #keyCountMax: number;
  /** Keys of the groups that are under way. */
  readonly #taken = new Set<PackedKey>();
  /** Oldest first. */
  #waiting: T[] = [];

  /** `run` runs a group to its end; it never rejects. */
  constructor(io: Pick<Io, 'spawn'>, keyCountMax: number, run: (group: readonly T[]) => Promise<void>) {
    this.#io = io;
    this.#keyCountMax = keyCountMax;
    this.#run = run;
  }

  /** Runs the batch as soon as no earlier one on its keys is under way or waits. */
  submit(batch: T): void {
    this.#waiting.push(batch);
    if (!this.#isBlocked(batch)) this.#start();
  }

  #isBlocked({ keys }: T): boolean {
    return keys.some((key) => this.#taken.has(key));
  }

  /** Starts every batch that need not wait, in groups that share keys. */
  #start(): void {
    const groups: T[][] = [];
    const keysOf = new Map<T[], Set<PackedKey>>();
    /** Keys of batches that still wait: later ones on them must wait, too. */
    const blocked = new Set<PackedKey>();
    const left: T[] = [];
    for (const batch of this.#waiting) {
      const mustWait = this.#isBlocked(batch) || batch.keys.some((key) => blocked.has(key));
      const shared = mustWait ? [] : groups.filter((group) => sharesKey(keysOf.get(group), batch));
      if (mustWait || !this.#join(batch, shared, groups, keysOf)) {
        left.push(batch);
        for (const key of batch.keys) blocked.add(key);
      }
    }
    this.#waiting = left;
    for (const group of groups) {
      const keys = [...(keysOf.get(group) ?? [])];
      for (const key of keys) this.#taken.add(key);
      this.#io.spawn('redis.batch', async () => {
        await this.#run(group);
        for (const key of keys) this.#taken.delete(key);
        if (this.#waiting.length > 0) this.#start();
      });
    }
  }

  /** Adds the batch to the one group that shares keys with it, or to a new one. False if it must wait. */
  #join(batch: T, shared: readonly T[][], groups: T[][], keysOf: Map<T[], Set<PackedKey>>): boolean {
    const [group, other] = shared;
    if (group === undefined) {
      const alone = [batch];
      groups.push(alone);
      keysOf.set(alone, new Set(batch.keys));
      return true;
    }
    const keys = keysOf.get(group) ?? new Set<PackedKey>();
    const fits = keys.size + batch.keys.length <= this.#keyCountMax;
    if (other !== undefined || !batch.isSociable || group[0]?.isSociable !== true || !fits) return false;
    group.push(batch);
    for (const key of batch.keys) keys.add(key);
    return true;
  }
}

function sharesKey(keys: ReadonlySet<PackedKey> | undefined, batch: QueuedBatch): boolean {
  return batch.keys.some((key) => keys?.has(key) === true);
}
