/**
 * Deletes values that have expired. Readers see them as gone already; this gives their room back. Each key is looked at
 * by its primary node alone, which deletes it on condition that it is still the object that had expired: a value written
 * meanwhile stays. So it does not matter much whether its clock is right, and not at all whether it comes late.
 *
 * The keys are gone through all the time, a bounded number in each round, with a rest between rounds; as long as many of
 * them have expired, without a rest.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import { tombstone } from '../../object/content.ts';
import { isExpired } from '../../object/expiry.ts';
import type { StoredObject } from '../../object/object.ts';
import type { TransactionService } from '../../xa/transactions.ts';

export interface ReaperParts {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly transactions: Pick<TransactionService, 'run'>;
  /** This node's keys of the bucket, in no order; may be iterated over a long time. */
  keys(): Iterable<PackedKey>;
  isPrimary(key: ObjectKey): boolean;
  /** What this node has under a key; undefined when that is nothing, or cannot be read. */
  read(key: PackedKey): Promise<StoredObject | undefined>;
}

export interface ReaperOptions {
  /** The rest between two rounds. */
  readonly intervalUs: number;
  /** Keys looked at in one round. */
  readonly roundCount: number;
}

export const defaultReaperOptions: ReaperOptions = { intervalUs: 1_000_000, roundCount: 512 };

export class Reaper {
  readonly #parts: ReaperParts;
  readonly #options: ReaperOptions;
  #keys: Iterator<PackedKey> | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = true;

  constructor(parts: ReaperParts, options: ReaperOptions = defaultReaperOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  start(): void {
    this.#stopped = false;
    this.#rest();
  }

  /** Begins no further round; resolves when the one under way is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** One round; answers how many keys it deleted. */
  async round(): Promise<number> {
    let deleted = 0;
    for (let looked = 0; looked < this.#options.roundCount && !this.#stopped; looked++) {
      this.#keys ??= this.#parts.keys()[Symbol.iterator]();
      const next = this.#keys.next();
      if (next.done === true) {
        this.#keys = undefined;
        break;
      }
      if (await this.#look(next.value)) deleted += 1;
    }
    return deleted;
  }

  #rest(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.io.clock.after(this.#options.intervalUs, () => {
      this.#parts.io.spawn('redis.reaper', () => {
        this.#running = this.#rounds();
        return this.#running;
      });
    });
  }

  async #rounds(): Promise<void> {
    let deleted: number;
    do deleted = await this.round();
    while (deleted * 4 > this.#options.roundCount);
    this.#rest();
  }

  async #look(packed: PackedKey): Promise<boolean> {
    const key = unpackKey(packed);
    if (key === undefined || !this.#parts.isPrimary(key)) return false;
    const object = await this.#parts.read(packed);
    if (object === undefined || !isExpired(object, this.#parts.io.clock.wallMs())) return false;
    return this.#delete(key, object);
  }

  async #delete(key: ObjectKey, { context }: StoredObject): Promise<boolean> {
    const operation = { key, content: tombstone, context, ifMatch: context, ifAbsent: false };
    try {
      const { kind } = await this.#parts.transactions.run({
        operations: [operation],
        forceAbort: false,
        level: undefined,
        timeoutMs: undefined,
        clientId: undefined,
      });
      return kind === 'committed';
    } catch (error) {
      // The node stops; whatever is left is looked at again by whoever is the primary then.
      if (error instanceof LockstepError && error.code === 'ShuttingDown') return false;
      throw error;
    }
  }
}
