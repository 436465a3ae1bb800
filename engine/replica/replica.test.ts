import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { present } from '../base/assert.ts';
import type { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { tombstone } from './object/content.ts';
import type { Actor } from './object/dots.ts';
import { counterOf, covers, emptyVector, instantMsOf, nextCounter, seenCounterMax } from './object/dots.ts';
import { applyWrite, decodeObject, encodeObject, mergeObjects, siblingsMax } from './object/object.ts';
import { markOf } from './reap-messages.ts';
import type { LocalWrite, Replica } from './replica.ts';
import type { Outcome } from './replica-harness.fixture.ts';
import {
  SlowStore,
  actor,
  clock,
  coordinate,
  contentOf,
  keyOf,
  newest,
  replicaOver,
  siblings,
  values,
  writeOf,
} from './replica-harness.fixture.ts';

describe('a replica', () => {
  it('builds each write on the one before it, although that one is not durable yet', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const first = coordinate(replica, writeOf(keyOf('k'), 'one'));
    const second = coordinate(replica, writeOf(keyOf('k'), 'two'));
    store.release(1);
    expect(values(second.applied)).toEqual(['one', 'two']);
    const counters = [first, second].map(({ applied }) => counterOf(present(applied, 'it').context, actor));
    expect(counters).toEqual([nextCounter(0, clock.wallMs()), nextCounter(0, clock.wallMs()) + 1]);
    expect([first.durable, second.durable]).toEqual([false, false]);
    store.release();
    expect([first.durable, second.durable]).toEqual([true, true]);
    expect(replica.busyKeys).toBe(0);
  });

  it('replaces the siblings that the writer has seen and keeps the others', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const first = coordinate(replica, writeOf(keyOf('k'), 'one'));
    store.release();
    const seen = present(first.applied, 'first').context;
    coordinate(replica, writeOf(keyOf('k'), 'blind'));
    const aware = coordinate(replica, writeOf(keyOf('k'), 'aware', { seen }));
    store.release();
    expect(values(aware.applied)).toEqual(['blind', 'aware']);
  });

  it('tells which entries a write prunes from the context, and how many are left', () => {
    const limits = { smallVclock: 1, bigVclock: 1, youngVclock: 0, oldVclock: 0 };
    const [old, older] = [nextCounter(0, 600), nextCounter(0, 500)];
    const seen = [
      { actor: byteStringOf('n8.aa') as Actor, counter: old },
      { actor: byteStringOf('n9.aa') as Actor, counter: older },
    ];
    const told: unknown[] = [];
    for (const rules of [siblings, { ...siblings, ...limits }]) {
      const store = new SlowStore();
      const replica = replicaOver(store, rules);
      replica.onPruned((...pruned) => told.push(pruned));
      const aware = coordinate(replica, writeOf(keyOf('k'), 'aware', { seen }));
      store.release();
      expect(aware.applied?.context).toHaveLength(rules === siblings ? 3 : 1);
    }
    const dot = { actor, counter: nextCounter(0, clock.wallMs()) };
    expect(told).toEqual([[keyOf('k'), dot, seen, 1]]);
  });

  it('answers a merge that changes nothing only when the current object is durable', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    const first = coordinate(replica, writeOf(keyOf('k'), 'one'));
    store.release(1);
    let merged = false;
    replica.merge(keyOf('k'), 7 as Token, present(first.bytes, 'bytes'), () => (merged = true));
    expect(merged).toBe(false);
    store.release();
    expect([merged, first.durable]).toEqual([true, true]);
  });

  it('checks conditions against the newest write, durable or not; a failed one is definite', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    coordinate(replica, writeOf(keyOf('k'), 'one'));
    const second = coordinate(replica, writeOf(keyOf('k'), 'two', { ifNoneMatch: true }));
    const third = coordinate(replica, writeOf(keyOf('k'), 'three', { ifContext: emptyVector }));
    store.release();
    expect(second.failed?.message).toBe('match_found');
    expect(third.failed?.message).toBe('modified');
    expect([second.applied, third.applied]).toEqual([undefined, undefined]);
    const gone = coordinate(replica, writeOf(keyOf('new'), 'x', { ifContext: emptyVector }));
    store.release();
    expect(gone.failed?.code).toBe('PreconditionFailed');
  });

  it('refuses a context that names own writes that never happened', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    const forgeries = [
      { actor, counter: 9 },
      { actor: byteStringOf('n2.bb') as Actor, counter: seenCounterMax(0, clock.wallMs()) + 1 },
    ];
    for (const forged of forgeries) {
      const outcome = coordinate(replica, writeOf(keyOf('k'), 'x', { seen: [forged] }));
      store.release();
      expect(outcome.failed?.code).toBe('BadRequest');
    }
    expect(store.durable.size).toBe(0);
  });

  it('gives a write a counter beyond what its writer has seen, although its clock is behind', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    const ahead = { actor: byteStringOf('n2.bb') as Actor, counter: nextCounter(0, 5000) };
    const rival = { actor: byteStringOf('n3.cc') as Actor, counter: nextCounter(0, 4000) };
    const merged = applyWrite(undefined, emptyVector, contentOf('rival'), rival, 4000);
    replica.merge(keyOf('k'), 7 as Token, encodeObject(merged), () => undefined);
    const outcome = coordinate(replica, writeOf(keyOf('k'), 'late', { seen: [ahead] }));
    store.release();
    expect(values(outcome.applied)).toEqual(['late']);
    // Dates follow clocks, and no clock has shown 5000: the object that it has seen is dated 4000.
    expect(outcome.applied?.siblings[0]?.lastModifiedMs).toBe(4000);
  });

  it('dates a write by its clock, whatever a context claims, and moves no other key ahead', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const forged = { actor: byteStringOf('q') as Actor, counter: nextCounter(0, 6 * 86_400_000) };
    const outcomes = [writeOf(keyOf('k'), 'x', { seen: [forged] }), writeOf(keyOf('other'), 'y')].map(
      (write) => {
        const outcome = coordinate(replica, write);
        store.release();
        return present(outcome.applied?.siblings[0], 'what was written');
      },
    );
    expect(outcomes.map(({ lastModifiedMs }) => lastModifiedMs)).toEqual([clock.wallMs(), clock.wallMs()]);
    expect(outcomes.map(({ dot }) => instantMsOf(dot))).toEqual([6 * 86_400_000, clock.wallMs()]);
  });

  it('that forgets a tombstone ahead of its clock writes the key under a fresh actor', () => {
    const store = new SlowStore();
    const one = replicaOver(store, newest);
    const ahead = { actor: byteStringOf('n2.bb') as Actor, counter: nextCounter(0, 3_600_000) };
    for (const remove of ['forget', 'discard'] as const) {
      const key = keyOf(remove);
      const deleted = coordinate(one, { ...writeOf(key, ''), seen: [ahead], content: tombstone });
      store.release();
      const bytes = present(deleted.bytes, 'the tombstone');
      const done = (gone: boolean): void => expect(gone).toBe(true);
      if (remove === 'forget') one.forget({ key, token: 7 as Token, mark: markOf(bytes) }, done);
      else one.discard(key, 7 as Token, () => true, done);
      store.release();
      const anew = coordinate(one, writeOf(key, 'anew'));
      store.release();
      // A replica that still has the tombstone treats the new value as one that it does not know.
      const dot = present(anew.applied?.siblings[0], 'the new value').dot;
      expect(covers(present(deleted.applied, 'the deletion').context, dot)).toBe(false);
      expect(mergeObjects(decodeObject(bytes), present(anew.applied, 'anew')).siblings).toHaveLength(2);
    }
  });

  it('stores what comes while its object is being removed, and acknowledges it only then', () => {
    const store = new SlowStore();
    const atOnce = Object.assign(store, { inMemory: (one: PackedKey) => store.durable.get(one) });
    const replica = replicaOver(atOnce, newest);
    const key = keyOf('k');
    const written = coordinate(replica, writeOf(key, 'v'));
    store.release();
    const bytes = Buffer.from(present(written.bytes, 'the object'));
    const ended: string[] = [];
    replica.discard(
      key,
      7 as Token,
      () => true,
      (gone) => ended.push(gone ? 'removed' : 'kept'),
    );
    replica.merge(key, 7 as Token, bytes, (error) => ended.push(error?.code ?? 'merged'));
    expect(ended).toEqual([]);
    store.release();
    expect(ended).toEqual(['removed', 'merged']);
    expect(present(store.durable.get(key), 'what was merged')).toEqual(bytes);
    expect(replica.busyKeys).toBe(0);
  });

  it('takes no more siblings than the limit, and stays readable at it', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const outcomes = Array.from({ length: siblingsMax + 1 }, (_, index) => {
      const outcome = coordinate(replica, writeOf(keyOf('k'), `v${index}`));
      store.release();
      return outcome;
    });
    expect(outcomes.at(-1)?.failed?.code).toBe('TooLarge');
    expect(outcomes.slice(0, -1).every(({ durable }) => durable)).toBe(true);
    const stored = decodeObject(present(store.durable.get(keyOf('k')), 'the object'));
    expect(stored.siblings).toHaveLength(siblingsMax);
    const healed = coordinate(replica, writeOf(keyOf('k'), 'one', { seen: stored.context }));
    store.release();
    expect(values(healed.applied)).toEqual(['one']);
  });

  it('reports a full store at once and a failed one when it fails, and forgets the key', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    store.full = true;
    expect(coordinate(replica, writeOf(keyOf('k'), 'x')).failed?.code).toBe('Overloaded');
    store.full = false;
    store.failing = true;
    const outcome = coordinate(replica, writeOf(keyOf('k'), 'y'));
    store.release();
    expect(outcome.failed?.code).toBe('StorageFailed');
    expect(replica.busyKeys).toBe(0);
  });

  it('writes a key with an unreadable or partly healed copy beside what the other replicas hold', () => {
    for (const healed of [false, true]) {
      const [store, other] = [new SlowStore(), new SlowStore()];
      const [replica, peer] = [replicaOver(store, siblings), replicaOver(other, siblings, 'n2.bb')];
      const key = keyOf('k');
      const send = (bytes: Uint8Array): void => {
        peer.merge(key, 7 as Token, bytes, () => undefined);
        other.release();
      };
      const theirs = coordinate(peer, writeOf(key, 'zero'));
      other.release();
      for (const text of ['one', 'two']) {
        const outcome = coordinate(replica, writeOf(key, text));
        store.release();
        send(present(outcome.bytes, 'bytes'));
      }
      store.rotten.add(key);
      if (healed) replica.merge(key, 7 as Token, present(theirs.bytes, 'bytes'), () => undefined);
      store.release();
      const third = coordinate(replica, writeOf(key, 'three'));
      store.release();
      send(present(third.bytes, 'bytes'));
      const held = decodeObject(present(other.durable.get(key), 'an object'));
      expect(values(held)).toEqual(['one', 'two', 'three', 'zero']);
      // A writer that has seen all siblings replaces them, and the actor stays the same.
      const last = coordinate(replica, writeOf(key, 'all', { seen: held.context }));
      store.release();
      send(present(last.bytes, 'bytes'));
      const whole = decodeObject(present(other.durable.get(key), 'an object'));
      expect([values(whole), whole.context.length]).toEqual([['all'], 3]);
      const untouched = coordinate(replica, writeOf(keyOf('l'), 'x'));
      store.release();
      expect(untouched.applied?.context.map((entry) => entry.actor)).toEqual([actor]);
    }
  });

  it('merges with the older copy that can be read where a newer one may be lost, and forgets nothing of it', () => {
    const [store, other] = [new SlowStore(), new SlowStore()];
    const [replica, peer] = [replicaOver(store, siblings), replicaOver(other, siblings, 'n2.bb')];
    const key = keyOf('k');
    const theirs = coordinate(peer, writeOf(key, 'theirs'));
    other.release();
    coordinate(replica, writeOf(key, 'ours'));
    store.release();
    const doubt = (): void => {
      store.rotten.add(key);
      store.doubted.add(key);
    };
    const held = (): readonly string[] =>
      values(decodeObject(present(store.durable.get(key), 'an object'))).toSorted();
    const merge = (bytes: Uint8Array): boolean | undefined => {
      let isSole: boolean | undefined;
      replica.merge(key, 7 as Token, bytes, (_error, sole) => (isSole = sole));
      store.release();
      return isSole;
    };
    doubt();
    // A doubted copy is not removed.
    replica.discard(key, 7 as Token, Boolean, Boolean);
    store.release();
    expect([merge(present(theirs.bytes, 'bytes')), held()]).toEqual([false, ['ours', 'theirs']]);
    doubt();
    // What the other replica has is here already, and is written all the same: from then on it can be read.
    expect([merge(present(theirs.bytes, 'bytes')), store.rotten.has(key)]).toEqual([false, false]);
    doubt();
    coordinate(replica, writeOf(key, 'third'));
    store.release();
    expect(held()).toEqual(['ours', 'theirs', 'third']);
  });

  it('goes on doubting a key that is written over a lost copy, until the doubt is ended', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const key = keyOf('k');
    const doubted: PackedKey[] = [];
    replica.onDoubt((one) => doubted.push(one));
    const read = (): string => {
      let answer = 'none';
      replica.read(key, (error, bytes) => {
        answer = error?.code ?? values(decodeObject(present(bytes, 'an object'))).join(' ');
      });
      store.release();
      return answer;
    };
    const write = (text: string, more: Partial<LocalWrite> = {}): Outcome => {
      const outcome = coordinate(replica, writeOf(key, text, more));
      store.release();
      return outcome;
    };
    write('lost');
    expect([read(), doubted.length]).toEqual(['lost', 0]);
    store.rotten.add(key);
    const second = write('second');
    expect([read(), doubted]).toEqual(['Corrupted', [key]]);
    // Later writes build on it, under the actor that does not claim to know what was lost.
    const third = write('third');
    const actorOf = ({ applied }: Outcome): unknown => applied?.siblings.at(-1)?.dot.actor;
    expect([values(third.applied), actorOf(third)]).toEqual([['second', 'third'], actorOf(second)]);
    expect(write('x', { ifNoneMatch: true }).failed?.code).toBe('Corrupted');
    // What is here already need not be written again.
    const before = store.durable.get(key);
    replica.merge(key, 7 as Token, present(third.bytes, 'bytes'), () => undefined);
    store.release();
    expect([store.durable.get(key) === before, read()]).toEqual([true, 'Corrupted']);
    store.kept.delete(key);
    expect([read(), write('x', { ifNoneMatch: true }).failed?.code]).toEqual([
      'second third',
      'PreconditionFailed',
    ]);
  });

  it('gives no write a dot that covers a failed write which other replicas may have', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const key = keyOf('k');
    store.failing = true;
    const failed = coordinate(replica, writeOf(key, 'one'));
    store.release();
    store.failing = false;
    const next = coordinate(replica, writeOf(key, 'two'));
    store.release();
    const both = mergeObjects(present(failed.applied, 'one'), present(next.applied, 'two'));
    expect(values(both)).toEqual(['one', 'two']);
  });

  it('answers Corrupted to a condition on a copy that cannot be read', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, newest);
    const [key, sound] = [keyOf('k'), keyOf('l')];
    for (const one of [key, sound]) coordinate(replica, writeOf(one, 'one'));
    store.release();
    store.rotten.add(key);
    for (const more of [{ ifNoneMatch: true }, { ifContext: emptyVector }]) {
      const outcome = coordinate(replica, writeOf(key, 'two', more));
      store.release();
      expect(outcome.failed).toMatchObject({ code: 'Corrupted', definite: true });
      expect(outcome.applied).toBeUndefined();
    }
    const found: unknown[] = [];
    const places = [key, sound].map((one) => ({ key: one, token: 7 as Token }));
    replica.newest(places, (error, objects) => found.push(error?.code, ...objects.map(values)));
    store.release();
    expect(found).toEqual(['Corrupted', [], ['one']]);
  });

  it('answers BadRequest to bytes that are not an object', () => {
    const replica = replicaOver(new SlowStore(), newest);
    let code: string | undefined;
    replica.merge(keyOf('k'), 7 as Token, Buffer.from('junk'), (error) => (code = error?.code));
    expect(code).toBe('BadRequest');
  });

  it('reaches the same object for any order of merges, answers each once, and mints no dot twice', () => {
    const step = fc.record({
      replica: fc.nat(1),
      key: fc.constantFrom('k', 'l'),
      aware: fc.boolean(),
      release: fc.nat(3),
      mergeTo: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.boolean(), (steps, allowMult) => {
        const rules = allowMult ? siblings : newest;
        const stores = [new SlowStore(), new SlowStore()];
        const replicas = stores.map((store, index) => replicaOver(store, rules, `n${index}.aa`));
        const outcomes: Outcome[] = [];
        let merges = 0;
        let answers = 0;
        steps.forEach(({ replica, key, aware, release, mergeTo }, index) => {
          const seen = aware ? (outcomes.at(-1)?.applied?.context ?? emptyVector) : emptyVector;
          const at = present(replicas[replica], 'a replica');
          const known = aware && outcomes.at(-1)?.applied !== undefined && index > 0;
          const write = writeOf(
            keyOf(key),
            `v${index}`,
            known && steps[index - 1]?.key === key ? { seen } : {},
          );
          const outcome = coordinate(at, write);
          outcomes.push(outcome);
          present(stores[replica], 'a store').release(release);
          if (mergeTo && outcome.bytes !== undefined) {
            merges += 1;
            present(replicas[1 - replica], 'the other').merge(
              keyOf(key),
              7 as Token,
              outcome.bytes,
              () => (answers += 1),
            );
          }
        });
        for (let round = 0; round < 3; round++) for (const store of stores) store.release();
        expect(answers).toBe(merges);
        expect(outcomes.every((outcome) => outcome.durable !== (outcome.failed !== undefined))).toBe(true);
        const dots = outcomes.flatMap(
          ({ applied }) => applied?.siblings.map((s) => `${s.dot.actor}:${s.dot.counter}`) ?? [],
        );
        const texts = outcomes.flatMap(({ applied }) => values(applied));
        expect(new Set(dots).size).toBe(new Set(texts).size);
        for (const key of ['k', 'l']) exchange(stores, replicas, keyOf(key));
      }),
    );
  });

  /** Both replicas send each other what they hold, after which they hold the same bytes. */
  function exchange(stores: readonly SlowStore[], replicas: readonly Replica[], key: PackedKey): void {
    const [left, right] = stores.map((store) => store.durable.get(key));
    if (left !== undefined) replicas[1]?.merge(key, 7 as Token, left, () => undefined);
    if (right !== undefined) replicas[0]?.merge(key, 7 as Token, right, () => undefined);
    for (const store of stores) store.release();
    const [first, second] = stores.map((store) => store.durable.get(key));
    expect(first === undefined ? undefined : Buffer.from(first).toString('hex')).toBe(
      second === undefined ? undefined : Buffer.from(second).toString('hex'),
    );
    if (left === undefined || right === undefined || first === undefined) return;
    const both = mergeObjects(decodeObject(left), decodeObject(right));
    expect(decodeObject(first).context).toEqual(both.context);
    expect(encodeObject(decodeObject(first)).equals(Buffer.from(first))).toBe(true);
  }
});

describe('a batch', () => {
  const keys = ['a', 'b', 'c'].map(keyOf);
  const writes = (text: string): readonly LocalWrite[] => keys.map((key) => writeOf(key, text));

  function coordinateAll(replica: Replica, batch: readonly LocalWrite[], tentative = false): Outcome {
    const outcome: Outcome = { durable: false };
    replica.coordinateAll(batch, [], {
      tentative,
      applied: (bytes) => Object.assign(outcome, { bytes: bytes[0] }),
      durable: () => Object.assign(outcome, { durable: true }),
      failed: (error) => Object.assign(outcome, { failed: error }),
    });
    return outcome;
  }

  it('is passed to the store in one piece, on top of writes under way', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const before = coordinate(replica, writeOf(present(keys[1], 'b'), 'one'));
    store.release(1);
    const outcome = coordinateAll(replica, writes('two'));
    store.release();
    expect([before.durable, outcome.durable]).toEqual([true, true]);
    const stored = keys.map((key) => values(decodeObject(present(store.durable.get(key), 'an object'))));
    expect(stored).toEqual([['two'], ['one', 'two'], ['two']]);
    expect(replica.busyKeys).toBe(0);
  });

  it('with one condition that does not hold changes nothing', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    coordinate(replica, writeOf(present(keys[2], 'c'), 'one'));
    const outcome = coordinateAll(replica, [
      ...writes('two').slice(0, 2),
      writeOf(present(keys[2], 'c'), 'two', { ifNoneMatch: true }),
    ]);
    store.release();
    expect(outcome).toMatchObject({ durable: false, failed: { code: 'PreconditionFailed' } });
    expect([...store.durable.keys()]).toEqual([keys[2]]);
    expect(replica.busyKeys).toBe(0);
  });

  it('that is tentative is not visible to other nodes before it is durable, not through later writes', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    coordinateAll(replica, writes('one'), true);
    store.release(3);
    const onTop = coordinate(replica, writeOf(present(keys[1], 'b'), 'two'));
    const beside = coordinate(replica, writeOf(keyOf('d'), 'two'));
    store.release(1);
    expect([onTop.applied, onTop.durable]).toEqual([undefined, false]);
    // The batch is durable now, so a write on top of it may be sent at once.
    const after = coordinate(replica, writeOf(present(keys[1], 'b'), 'three'));
    expect(values(after.applied)).toEqual(['one', 'two', 'three']);
    store.release(1);
    expect(values(onTop.applied)).toEqual(['one', 'two']);
    expect(onTop.durable).toBe(true);
    store.release();
    expect([values(beside.applied), after.durable]).toEqual([['two'], true]);
    expect(replica.busyKeys).toBe(0);
  });

  it('that the store refuses leaves no trace', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    store.full = true;
    expect(coordinateAll(replica, writes('one')).failed?.code).toBe('Overloaded');
    expect(replica.busyKeys).toBe(0);
  });

  it('of another replica is merged whole, once', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const dot = { actor: byteStringOf('n2.bb') as Actor, counter: 5 };
    const bytes = encodeObject(applyWrite(undefined, emptyVector, contentOf('theirs'), dot, 1));
    const incoming = keys.map((key) => ({ key, token: 7 as Token, bytes }));
    const errors: (LockstepError | undefined)[] = [];
    for (let turn = 0; turn < 2; turn++) replica.mergeAll(incoming, (error) => errors.push(error));
    store.release();
    expect(errors).toEqual([undefined, undefined]);
    for (const key of keys) expect(store.durable.get(key)).toEqual(bytes);
    expect(replica.busyKeys).toBe(0);
  });

  it('keeps readers of a guarded key waiting, and no others', () => {
    const store = new SlowStore();
    const replica = replicaOver(store, siblings);
    const [guarded, free] = [present(keys[0], 'a'), present(keys[1], 'b')];
    const waiting: (() => void)[] = [];
    replica.guard({
      closed: (key) => key === guarded,
      ordersWrites: () => false,
      wait: (_, proceed) => waiting.push(() => proceed(undefined)),
    });
    const read: PackedKey[] = [];
    for (const key of [guarded, free]) replica.read(key, () => read.push(key));
    store.release();
    expect(read).toEqual([free]);
    for (const proceed of waiting) proceed();
    store.release();
    expect(read).toEqual([free, guarded]);
  });
});
