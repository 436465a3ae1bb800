/**
 * Whether a record of a key may follow another one (`repair-soundness`): it knows all that the one before knew, and
 * of what that one had seen replaced or deleted it brings nothing back. What was deleted and then forgotten (a reaped
 * tombstone) is remembered here for all nodes. A copy of something alive may go: that its owners hold it is
 * `durability`'s and `convergence`'s affair.
 */
import { BytesError } from '../../engine/base/bytes.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { VersionVector } from '../../engine/replica/object/dots.ts';
import { compareVectors, covers, describeVector, emptyVector } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { decodeObject, liveSiblings } from '../../engine/replica/object/object.ts';
import type { HeldVersion, ShadowChange } from './replica-shadow.ts';

export class ReplacementRule {
  /** What had been seen of a key when its tombstone was reaped, somewhere. */
  readonly #reaped = new Map<PackedKey, VersionVector[]>();

  /** What is wrong with the change; empty: nothing. */
  faultOf({ key, before, after }: ShadowChange): string {
    const old = before?.value === undefined ? undefined : decode(before.value);
    if (after.value === undefined) {
      if (old !== undefined) this.#bury(key, old);
      return '';
    }
    const young = decode(after.value);
    if (young === 'garbled' || old === 'garbled') return 'what was written is no object';
    if (old !== undefined) return faultBetween(old, young);
    return this.#resurrected(key, young);
  }

  #bury(key: PackedKey, old: StoredObject | 'garbled'): void {
    // What lives is not deleted: a node that owns the key no more has dropped its copy.
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

/** All that a version knows of; nothing where there is no object. */
export function contextOf(version: HeldVersion | undefined): VersionVector {
  const object = version?.value === undefined ? 'garbled' : decode(version.value);
  return object === 'garbled' ? emptyVector : object.context;
}

function faultBetween(old: StoredObject, young: StoredObject): string {
  const order = compareVectors(old.context, young.context);
  if (order !== 'equal' && order !== 'before') {
    return `${describeVector(young.context)} does not know all of ${describeVector(old.context)}, which it replaced`;
  }
  const kept = new Set(old.siblings.map(({ dot }) => `${dot.actor} ${dot.counter}`));
  const back = young.siblings.find(
    ({ dot }) => covers(old.context, dot) && !kept.has(`${dot.actor} ${dot.counter}`),
  );
  return back === undefined ? '' : `${describeVector([back.dot])} was replaced and is back`;
}

function decode(bytes: Buffer): StoredObject | 'garbled' {
  try {
    return decodeObject(bytes);
  } catch (error) {
    if (error instanceof BytesError) return 'garbled';
    throw error;
  }
}
