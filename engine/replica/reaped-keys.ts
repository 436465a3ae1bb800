/**
 * Remembers the tombstones that this replica has removed lately, the last one of each key, with their contexts. A late
 * message with a value that such a tombstone had replaced then changes nothing. Nothing is remembered of writes of the
 * key after the tombstone.
 *
 * The memory is bounded and ends with the process: connections of an earlier incarnation deliver no messages.
 */
import type { PackedKey } from '../base/object-key.ts';
import { RecentMap } from '../base/recent-map.ts';
import type { VersionVector } from './object/dots.ts';
import { covers } from './object/dots.ts';
import type { StoredObject } from './object/object.ts';

interface Forgotten {
  readonly mark: string;
  readonly context: VersionVector;
}

const keptMax = 131_072;

/** The recently removed tombstones of one replica. */
export class ReapedKeys {
  readonly #last = new RecentMap<PackedKey, Forgotten>(keptMax);

  /** Remembers a removed tombstone by its mark (`reap-messages.ts`) and context. */
  keep(key: PackedKey, mark: string, context: VersionVector): void {
    this.#last.set(key, { mark, context });
  }

  /** Whether the key's last removed tombstone has this mark. */
  has(key: PackedKey, mark: string): boolean {
    return this.#of(key)?.mark === mark;
  }

  /** Whether the context of the key's last removed tombstone covers every sibling of the object. */
  covers(key: PackedKey, object: StoredObject): boolean {
    const last = this.#of(key);
    return last !== undefined && object.siblings.every(({ dot }) => covers(last.context, dot));
  }

  #of(key: PackedKey): Forgotten | undefined {
    return this.#last.size === 0 ? undefined : this.#last.get(key);
  }
}
