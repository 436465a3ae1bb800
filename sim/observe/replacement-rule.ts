/**
 * Decides whether a record of a key may follow another one (`repair-soundness`). The new record's context must
 * contain that of the old one, except entries that its coordinator may have pruned as it wrote (context-pruning.ts).
 * It must not bring back a version that the old one had seen replaced or deleted: once an entry is pruned, the next
 * record no longer says so of the versions that the entry covered. The rule remembers reaped tombstones for all
 * nodes. A node may drop a copy of a live object: `durability` and `convergence` check that its owners hold it.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { VersionVector } from '../../engine/replica/object/dots.ts';
import { covers, describeVector, emptyVector, includesVector } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { decodeObject, liveSiblings } from '../../engine/replica/object/object.ts';
import type { ContextLimits } from '../../engine/replica/object/prune.ts';
import { judgePruning } from './context-pruning.ts';
import type { HeldVersion, ShadowChange } from './replica-shadow.ts';

/** The rule, with the contexts of the tombstones reaped so far in the run. */
export class ReplacementRule {
  /** Contexts of the tombstones of a key that any node has reaped. */
  readonly #reaped = new Map<PackedKey, VersionVector[]>();

  /** Describes the violation; empty if there is none. `limits`: those of the key's bucket on contexts. */
  faultOf({ key, before, after }: ShadowChange, limits?: ContextLimits): string {
    const old = before?.value === undefined ? undefined : decode(before.value);
    if (after.value === undefined) {
      if (old !== undefined) this.#bury(key, old);
      return '';
    }
    const young = decode(after.value);
    if (young === 'garbled' || old === 'garbled') return 'what was written is not an object';
    if (old !== undefined) return faultBetween(old, young, limits);
    return this.#resurrected(key, young);
  }

  #bury(key: PackedKey, old: StoredObject | 'garbled'): void {
    // A live object is not being deleted: a node that no longer owns the key has dropped its copy.
    if (old === 'garbled' || liveSiblings(old).length > 0) return;
    const known = this.#reaped.get(key);
    if (known === undefined) this.#reaped.set(key, [old.context]);
    else known.push(old.context);
  }

  #resurrected(key: PackedKey, young: StoredObject): string {
    const contexts = this.#reaped.get(key) ?? [];
    const back = young.siblings.find(({ tombstone, dot }) => {
      return !tombstone && contexts.some((context) => covers(context, dot));
    });
    return back === undefined ? '' : `${describeVector([back.dot])} was deleted and is back`;
  }
}

/** The version's context; empty without an object. */
export function contextOf(version: HeldVersion | undefined): VersionVector {
  return objectOf(version)?.context ?? emptyVector;
}

/** The object of a version; undefined for a removal, and for bytes that are no object. */
export function objectOf(version: HeldVersion | undefined): StoredObject | undefined {
  const object = version?.value === undefined ? 'garbled' : decode(version.value);
  return object === 'garbled' ? undefined : object;
}

function faultBetween(old: StoredObject, young: StoredObject, limits: ContextLimits | undefined): string {
  if (!includesVector(young.context, dueOf(old, young, limits))) {
    return `${describeVector(young.context)} does not know all of ${describeVector(old.context)}, which it replaced`;
  }
  const kept = new Set(old.siblings.map(({ dot }) => `${dot.actor} ${dot.counter}`));
  const back = young.siblings.find(
    ({ dot }) => covers(old.context, dot) && !kept.has(`${dot.actor} ${dot.counter}`),
  );
  return back === undefined ? '' : `${describeVector([back.dot])} was replaced and is back`;
}

/** The context of `old`, without the entries that the coordinator of `young` may have pruned. */
function dueOf(old: StoredObject, young: StoredObject, limits: ContextLimits | undefined): VersionVector {
  if (judgePruning(old, young, limits) !== 'allowed') return old.context;
  return old.context.filter(({ actor }) => young.context.some((one) => one.actor === actor));
}

function decode(bytes: Buffer): StoredObject | 'garbled' {
  try {
    return decodeObject(bytes);
  } catch (error) {
    if (error instanceof BytesError) return 'garbled';
    throw error;
  }
}
