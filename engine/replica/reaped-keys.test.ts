/** Removed tombstones: what a replica does with messages about keys of which it has removed one. */
import { describe, expect, it } from 'vitest';

import { present } from '../base/assert.ts';
import type { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { tombstone } from './object/content.ts';
import type { Actor } from './object/dots.ts';
import { emptyVector, mergeVectors } from './object/dots.ts';
import { applyWrite, decodeObject, encodeObject, mergeObjects } from './object/object.ts';
import { markOf } from './reap-messages.ts';
import type { Replica } from './replica.ts';
import {
  SlowStore,
  contentOf,
  coordinate,
  keyOf,
  replicaOver,
  siblings,
  values,
  writeOf,
} from './replica-harness.fixture.ts';

/** Writes and deletes the key; returns the stored bytes of the value and of the tombstone. */
function deletedKey(
  replica: Replica,
  store: SlowStore,
  key: PackedKey,
): { readonly old: Uint8Array; readonly deleted: Uint8Array } {
  const written = coordinate(replica, writeOf(key, 'old'));
  store.release();
  const old = present(store.durable.get(key), 'the value');
  const seen = written.applied?.context ?? emptyVector;
  coordinate(replica, { ...writeOf(key, ''), seen, content: tombstone });
  store.release();
  return { old, deleted: present(store.durable.get(key), 'the tombstone') };
}

/** The error of a merge. */
function mergeInto(
  replica: Replica,
  store: SlowStore,
  key: PackedKey,
  bytes: Uint8Array,
): LockstepError | undefined | 'no answer' {
  let answer: LockstepError | undefined | 'no answer' = 'no answer';
  replica.merge(key, 7 as Token, bytes, (error) => (answer = error));
  store.release();
  return answer;
}

describe('a replica that removed a tombstone', () => {
  it('forgets only the exact tombstone, and does not take it back', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const key = keyOf('k');
    const { deleted } = deletedKey(replica, store, key);
    const forget = (that: Uint8Array): boolean[] => {
      const gone: boolean[] = [];
      replica.forget({ key, token: 7 as Token, mark: markOf(that) }, (done) => gone.push(done));
      store.release();
      return gone;
    };
    expect(forget(Buffer.from('something else'))).toEqual([false]);
    expect(store.durable.has(key)).toBe(true);
    const hasForgotten = (that: Uint8Array): boolean =>
      replica.hasForgotten({ key, token: 7 as Token, mark: markOf(that) });
    expect(hasForgotten(deleted)).toBe(false);
    expect(forget(deleted)).toEqual([true]);
    expect(store.durable.has(key)).toBe(false);
    expect(hasForgotten(deleted)).toBe(true);
    // The removed tombstone does not cover what a later deletion replaced, which may still arrive.
    expect(hasForgotten(Buffer.from('a later deletion'))).toBe(false);
    expect(mergeInto(replica, store, key, deleted)).toBeUndefined();
    expect(store.durable.has(key)).toBe(false);
    const anew = coordinate(replica, writeOf(key, 'new'));
    store.release();
    expect(values(anew.applied)).toEqual(['new']);
  });

  it('stores a removed tombstone again when a node still sends what it had replaced', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const key = keyOf('k');
    const { old, deleted } = deletedKey(replica, store, key);
    const item = { key, token: 7 as Token, mark: markOf(deleted) };
    const forget = (): void => {
      replica.forget(item, () => undefined);
      store.release();
      expect([store.durable.has(key), replica.hasForgotten(item)]).toEqual([false, true]);
    };
    forget();
    // A late message, or a node whose disk has gone back to before the deletion.
    expect(mergeInto(replica, store, key, old)).toBeUndefined();
    expect(store.durable.get(key)).toEqual(deleted);
    forget();
    // The sender knows of an earlier deletion, or of more writes that were replaced: all nodes must end with one object.
    const other = { actor: byteStringOf('n2.bb') as Actor, counter: 5 };
    const known = decodeObject(old);
    const more = { ...known, context: mergeVectors(known.context, [other]) };
    expect(mergeInto(replica, store, key, encodeObject(more))).toBeUndefined();
    const merged = mergeObjects(decodeObject(deleted), more);
    expect(store.durable.get(key)).toEqual(encodeObject(merged));
    expect(merged.siblings).toEqual(decodeObject(deleted).siblings);
  });

  it('takes what a removed tombstone had not replaced', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const key = keyOf('k');
    const { deleted } = deletedKey(replica, store, key);
    replica.forget({ key, token: 7 as Token, mark: markOf(deleted) }, () => undefined);
    store.release();
    const dot = { actor: byteStringOf('n2.bb') as Actor, counter: 5 };
    const written = encodeObject(applyWrite(undefined, emptyVector, contentOf('new'), dot, 1000));
    expect(mergeInto(replica, store, key, written)).toBeUndefined();
    expect(store.durable.get(key)).toEqual(written);
  });
});
