/**
 * Deletes expired values to free their space; readers see them as absent already. Only the primary of a key checks it.
 * An expired key takes a turn like any command (`key-queue.ts`). The turn reads it from as many replicas as a command
 * would, and deletes it on condition that it is still the value that has expired. So a newer value that this node lacks
 * stays, and an inaccurate clock does little harm.
 *
 * The reaper goes through the keys continuously, a bounded number per round, with a rest between rounds. While more
 * than a quarter of a round has expired, it does not rest.
 */
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { clientNameOf, unpackKey } from '../../base/object-key.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import { isExpired } from '../../replica/object/expiry.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { Deferred } from '../../base/deferred.ts';
import type { Command } from './commands.ts';
import { okReply } from './replies.ts';
import type { Edit, KeyQueue } from './key-queue.ts';

/** What the reaper works with. */
export interface ExpiryReaperDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly turns: Pick<KeyQueue, 'submit'>;
  /** This node's keys of the bucket, in any order. The iteration may last long. */
  keys(): Iterable<PackedKey>;
  /** Whether this node is the primary of one of `keys`. */
  isPrimary(key: ObjectKey): boolean;
  /** This node's copy of a key; undefined if there is none, or it cannot be read. */
  read(key: PackedKey): Promise<StoredObject | undefined>;
}

/** The pace of the reaper. */
export interface ReaperOptions {
  /** Microseconds of rest between two rounds. */
  readonly intervalUs: number;
  /** Keys checked in one round. */
  readonly roundCount: number;
}

/** The pace of a node whose configuration states none. */
export const defaultReaperOptions: ReaperOptions = { intervalUs: 1_000_000, roundCount: 512 };

/** The reaper of one node. */
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

  /** Starts with a rest. */
  start(): void {
    this.#stopped = false;
    this.#rest();
  }

  /** Begins no further round; resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  /** Runs one round; resolves with the number of keys deleted. */
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
    const key = clientNameOf(packed);
    const stored = unpackKey(packed);
    if (key === undefined || stored === undefined || !this.#parts.isPrimary(stored)) return false;
    const object = await this.#parts.read(packed);
    if (object === undefined || !isExpired(object, this.#parts.io.clock.wallMs())) return false;
    const deletion = new ExpiredDeletion();
    this.#parts.turns.submit(key, deletion);
    return deletion.done.promise;
  }
}

const noBytes = Buffer.alloc(0);

/** Deletes an expired value unless the key holds another one by now. */
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

class ExpiredDeletion implements Edit {
  readonly command = bury;
  readonly request = [noBytes];
  readonly version = 2;
  readonly done = new Deferred<boolean>();

  settle(): void {
    this.done.resolve(true);
  }

  /** A later round checks the key again. */
  fail(): void {
    this.done.resolve(false);
  }
}
