/**
 * Deletes values that have expired. Readers see them as gone already; this gives their room back. Each key is looked at
 * by its primary node alone. What has expired there takes a turn like any command (key-queue.ts): it is read from as many
 * replicas as a command would read, and deleted on condition that it is still the value that had expired. So a newer
 * value that this node has not heard of stays, and it does not matter much whether its clock is right.
 *
 * The keys are gone through all the time, a bounded number in each round, with a rest between rounds; as long as many of
 * them have expired, without a rest.
 */
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import { isExpired } from '../../replica/object/expiry.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { Deferred } from '../../base/deferred.ts';
import type { Command } from './commands.ts';
import { okReply } from './replies.ts';
import type { Edit, KeyQueue } from './key-queue.ts';

export interface ExpiryReaperDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly turns: Pick<KeyQueue, 'submit'>;
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
  readonly #parts: ExpiryReaperDependencies;
  readonly #options: ReaperOptions;
  #keys: Iterator<PackedKey> | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = true;

  constructor(parts: ExpiryReaperDependencies, options: ReaperOptions = defaultReaperOptions) {
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
    const burial = new Burial();
    this.#parts.turns.submit(key, burial);
    return burial.done.promise;
  }
}

const noBytes = Buffer.alloc(0);

/** Deletes what has expired, unless something else is there by now. */
const bury: Command = {
  name: 'bury',
  arity: 1,
  kind: 'write',
  field: 'other',
  access: 'open',
  places: undefined,
  apply: (keys, request) => {
    const key = request[0] ?? noBytes;
    if (keys.get(key) === undefined) keys.bury(key);
    return okReply;
  },
};

class Burial implements Edit {
  readonly command = bury;
  readonly request = [noBytes];
  readonly version = 2;
  readonly done = new Deferred<boolean>();

  settle(): void {
    this.done.resolve(true);
  }

  /** Whatever is left is looked at again. */
  fail(): void {
    this.done.resolve(false);
  }
}
