/**
 * The deletions that this replica has forgotten lately, the last one of each key, with their contexts: a late message
 * about what such a deletion had replaced changes nothing. It says nothing of what replaced or deleted the key later,
 * elsewhere. Bounded, and gone with the process: connections of an earlier life carry no messages.
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

export class ReapedKeys {
  readonly #last = new RecentMap<PackedKey, Forgotten>(keptMax);

  /** `mark`: names the tombstone (reap-messages.ts). */
  keep(key: PackedKey, mark: string, context: VersionVector): void {
    this.#last.set(key, { mark, context });
  }

  /** The last one of the key is the tombstone of that mark. */
  has(key: PackedKey, mark: string): boolean {
    return this.#of(key)?.mark === mark;
  }

  /** Everything in the object was known when the key was forgotten. */
  covers(key: PackedKey, object: StoredObject): boolean {
    const last = this.#of(key);
    return last !== undefined && object.siblings.every(({ dot }) => covers(last.context, dot));
  }

  #of(key: PackedKey): Forgotten | undefined {
    return this.#last.size === 0 ? undefined : this.#last.get(key);
  }
}
