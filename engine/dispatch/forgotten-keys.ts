/**
 * The deletions that this replica has forgotten lately, with their contexts: a late message about what such a deletion
 * had replaced changes nothing. Bounded, and gone with the process: connections of an earlier life carry no messages.
 */
import type { PackedKey } from '../base/object-key.ts';
import { RecentMap } from '../base/recent-map.ts';
import type { VersionVector } from '../object/dots.ts';
import { covers } from '../object/dots.ts';
import type { StoredObject } from '../object/object.ts';

const keptMax = 131_072;

export class ForgottenKeys {
  readonly #contexts = new RecentMap<PackedKey, VersionVector>(keptMax);

  keep(key: PackedKey, context: VersionVector): void {
    this.#contexts.set(key, context);
  }

  contextOf(key: PackedKey): VersionVector | undefined {
    return this.#contexts.size === 0 ? undefined : this.#contexts.get(key);
  }

  /** Everything in the object was known when the key was forgotten. */
  covers(key: PackedKey, object: StoredObject): boolean {
    const context = this.contextOf(key);
    return context !== undefined && object.siblings.every(({ dot }) => covers(context, dot));
  }
}
