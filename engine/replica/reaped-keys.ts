/**
 * Remembers the tombstones that this replica has removed lately, the last one of each key. A value that such a
 * tombstone had replaced does not come back while this replica remembers it: the replica stores the tombstone again, and
 * the node that still holds the value learns of the deletion. Nothing is remembered of writes of the key after the
 * tombstone.
 *
 * The memory is bounded and ends with the process: connections of an earlier incarnation deliver no messages.
 */
import type { PackedKey } from '../base/object-key.ts';
import { RecentMap } from '../base/recent-map.ts';
import { covers } from './object/dots.ts';
import type { StoredObject } from './object/object.ts';
import { decodeObject } from './object/object.ts';
import { markOf } from './reap-messages.ts';

const keptMax = 131_072;

/** The recently removed tombstones of one replica. */
export class ReapedKeys {
  /** The stored bytes of each tombstone. */
  readonly #last = new RecentMap<PackedKey, Uint8Array>(keptMax);

  /** Remembers a removed tombstone by its stored bytes. Copies them: a small Buffer keeps its whole pool in memory. */
  keep(key: PackedKey, bytes: Uint8Array): void {
    this.#last.set(key, new Uint8Array(bytes));
  }

  /** Whether the key's last removed tombstone has this mark (`reap-messages.ts`). */
  has(key: PackedKey, mark: string): boolean {
    const bytes = this.#of(key);
    return bytes !== undefined && markOf(bytes) === mark;
  }

  /** The key's last removed tombstone, if its context covers every sibling of the object. */
  coverOf(key: PackedKey, { siblings }: StoredObject): StoredObject | undefined {
    const bytes = this.#of(key);
    if (bytes === undefined) return undefined;
    const tombstone = decodeObject(bytes);
    return siblings.every(({ dot }) => covers(tombstone.context, dot)) ? tombstone : undefined;
  }

  #of(key: PackedKey): Uint8Array | undefined {
    return this.#last.size === 0 ? undefined : this.#last.get(key);
  }
}
