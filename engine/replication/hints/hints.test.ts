import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { TestClock, settle } from '../../api/testing/test-io.fixture.ts';
import { present } from '../../base/assert.ts';
import type { SendOutcome } from '../../base/channel.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { emptyVector } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import {
  applyWrite,
  decodeObject,
  encodeObject,
  mergeObjects,
  sameObject,
} from '../../replica/object/object.ts';
import type { StoreWrite } from '../../storage/store.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import type { HintStore } from './hints.ts';
import { Hints } from './hints.ts';
import type { PeerLinks, ReplyHandler } from '../peer-links.ts';
import type { ReadDone, WriteDone } from '../../replica/key-slots.ts';

const peer = 'n2' as NodeId;
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const options = {
  ...{ bytesMax: 1e6, ageMsMax: 1e6, drainIntervalUs: 1e12, windowMax: 4, timeoutUs: 1e6 },
  unremovedCountMax: 2,
};

/**
 * A store that answers reads with what is durable when they are asked. Reads and writes are answered in order, when the
 * test says.
 */
class SlowStore implements HintStore {
  readonly durable = new Map<PackedKey, Uint8Array>();
  readonly reads: (() => void)[] = [];
  readonly writes: (() => void)[] = [];
  isRotten = false;
  /** Takes no writes, as a store of which a write has failed. */
  isFailed = false;
  /** Answers writes with an error although it takes some. */
  isErring = false;

  tryRead(asked: PackedKey, done: ReadDone): SendOutcome {
    const value = this.durable.get(asked);
    const error = this.isRotten ? new LockstepError('Corrupted') : undefined;
    this.reads.push(() => done(error, error === undefined ? value : undefined));
    return 'ok';
  }

  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome {
    if (this.isFailed || this.isErring) {
      this.writes.push(() => done(new LockstepError('StorageFailed')));
      return 'ok';
    }
    this.writes.push(() => {
      for (const { key: written, value } of batch) {
        if (value === undefined) this.durable.delete(written);
        else this.durable.set(written, value);
      }
      done(undefined);
    });
    return 'ok';
  }

  keysOfBucket(prefix: string): Iterable<PackedKey> {
    return [...this.durable.keys()].filter((one) => one.startsWith(prefix));
  }

  keys(): Iterable<PackedKey> {
    return this.durable.keys();
  }

  has(asked: PackedKey): boolean {
    return this.durable.has(asked);
  }

  newestKey(): PackedKey | undefined {
    return [...this.durable.keys()].at(-1);
  }

  liveBytes(): number {
    return 0;
  }

  keyCount(): number {
    return this.durable.size;
  }

  takesWrites(): boolean {
    return !this.isFailed;
  }

  close(): void {
    this.reads.length = 0;
  }
}

/** A replica that takes what it is sent, and answers when the test says. */
class SlowPeer implements PeerLinks {
  readonly replies: (() => void)[] = [];
  asked = 0;
  held: StoredObject | undefined;
  /** The code with which it refuses objects of a key. */
  readonly refusals = new Map<PackedKey, ErrorCode>();

  request(_: NodeId, request: PeerRequest, _timeoutUs: number, onReply: ReplyHandler): SendOutcome {
    if (request.kind !== 'mergeObject') throw new Error(`a hint goes as ${request.kind}`);
    this.asked += 1;
    const sent = decodeObject(Buffer.from(request.object));
    const code = this.refusals.get(request.key);
    this.replies.push(() => {
      if (code !== undefined) {
        onReply({ kind: 'failed', code, detail: 'not this one' });
        return;
      }
      this.held = this.held === undefined ? sent : mergeObjects(this.held, sent);
      onReply({ kind: 'written' });
    });
    return 'ok';
  }
}

class Bench {
  readonly store = new SlowStore();
  readonly replica = new SlowPeer();
  readonly clock = new TestClock();
  hints: Hints;
  readonly failed: unknown[] = [];
  /** Keys whose bucket was flushed. */
  readonly flushed = new Set<PackedKey>();

  constructor() {
    this.hints = this.#incarnation();
  }

  #incarnation(): Hints {
    const spawn = (_: string, task: () => Promise<void>): void => {
      task().catch((error: unknown) => this.failed.push(error));
    };
    const io = { clock: this.clock, spawn };
    return new Hints(io, this.store, this.replica, options, {
      self: 'n1' as NodeId,
      members: () => [peer],
      isRoutable: () => true,
      settledView: () => undefined,
      owners: () => [peer],
      isFormer: (key) => this.flushed.has(key),
      takeHere: () => 'closed',
    });
  }

  /** Starts the node again over the same disk. */
  async restart(): Promise<void> {
    this.hints = this.#incarnation();
    const recalled = this.hints.recall();
    await this.answer('reads');
    await recalled;
  }

  keep(object: StoredObject, of = key): void {
    const bytes = encodeObject(object);
    this.hints.keep(peer, of, 7 as Token, bytes);
    // The bytes are valid during the call only.
    bytes.fill(0xff);
  }

  /** Delivers the oldest pending answer of one kind. */
  async answer(from: 'reads' | 'writes' | 'replies'): Promise<void> {
    const queue = from === 'replies' ? this.replica.replies : this.store[from];
    queue.shift()?.();
    await settle();
  }

  /** Drains until no hint is stored and none is under way. */
  async drainAll(): Promise<void> {
    for (let round = 0; round < 100; round++) {
      this.hints.drain(peer);
      await settle();
      for (const queue of ['reads', 'writes', 'replies'] as const) await this.answer(queue);
    }
    expect(this.failed).toEqual([]);
  }
}

/**
 * Writes of two coordinators, each building on its own previous one, as a replica would hold them one after the other.
 */
function writesOf(count: number): readonly StoredObject[] {
  const last = new Map<string, StoredObject>();
  return Array.from({ length: count }, (_, index) => {
    const actor = byteStringOf(`n${index % 2}`) as Actor;
    const current = last.get(actor);
    const content = plainContent(Buffer.from(`${index}`), 'text/plain');
    const seen = index % 3 === 0 ? emptyVector : (current?.context ?? emptyVector);
    const object = applyWrite(current, seen, content, { actor, counter: index + 1 }, 1000);
    last.set(actor, object);
    return object;
  });
}

describe('hints', () => {
  it('give up one that cannot be read, as one that is too old, so that it does not count for ever', async () => {
    const bench = new Bench();
    for (const object of writesOf(1)) bench.keep(object);
    await bench.answer('writes');
    expect(bench.hints.kept).toBe(1);
    bench.store.isRotten = true;
    await bench.drainAll();
    const { delivered, expired } = bench.hints.counts;
    expect([bench.hints.kept, delivered, expired, bench.replica.held]).toEqual([0, 0, 1, undefined]);
  });

  it('go to their replica once while the store cannot remove them, and once more after a restart', async () => {
    const bench = new Bench();
    for (const object of writesOf(1)) bench.keep(object);
    await bench.answer('writes');
    bench.store.isFailed = true;
    await bench.drainAll();
    expect(bench.replica.asked).toBe(1);
    expect([bench.hints.kept, bench.hints.unremoved, bench.hints.counts.delivered]).toEqual([1, 1, 0]);
    // None is left that a leaving node must wait for.
    expect(await bench.hints.handOn()).toBe(0);
    bench.store.isFailed = false;
    await bench.restart();
    await bench.drainAll();
    expect([bench.replica.asked, bench.hints.kept, bench.hints.counts.delivered]).toEqual([2, 0, 1]);
  });

  it('are removed, and count as delivered once, as soon as the store removes again', async () => {
    const bench = new Bench();
    for (const object of writesOf(1)) bench.keep(object);
    await bench.answer('writes');
    bench.store.isErring = true;
    await bench.drainAll();
    bench.store.isErring = false;
    await bench.drainAll();
    expect([bench.replica.asked, bench.hints.kept, bench.hints.unremoved]).toEqual([1, 0, 0]);
    expect(bench.hints.counts.delivered).toBe(1);
  });

  it('go to their replica again once a write is added, unless the store takes none', async () => {
    for (const isFailed of [true, false]) {
      const bench = new Bench();
      const [first, second] = writesOf(2);
      bench.keep(present(first, 'a write'));
      await bench.answer('writes');
      bench.store.isErring = true;
      await bench.drainAll();
      [bench.store.isFailed, bench.store.isErring] = [isFailed, false];
      bench.keep(present(second, 'a write'));
      await bench.drainAll();
      expect(bench.replica.asked).toBe(isFailed ? 1 : 2);
      expect(bench.hints.counts).toMatchObject(
        isFailed ? { delivered: 0, dropped: 1 } : { delivered: 1, dropped: 0 },
      );
    }
  });

  it('are not made of a write whose bucket was flushed since', async () => {
    const bench = new Bench();
    const [object] = writesOf(1);
    bench.flushed.add(key);
    bench.keep(present(object, 'a write'));
    await bench.answer('writes');
    expect([bench.hints.kept, bench.hints.counts.stored]).toEqual([0, 0]);
  });

  it('do not wait behind those that their replica refuses, but behind those that it cannot take now', async () => {
    for (const [code, left] of [
      ['TooLarge', options.windowMax],
      ['Overloaded', 10],
    ] as const) {
      const bench = new Bench();
      for (let index = 0; index < 10; index++) {
        const of = objectKey(defaultType, byteStringOf('b'), byteStringOf(`k${index}`)).packed;
        if (index < options.windowMax) bench.replica.refusals.set(of, code);
        for (const object of writesOf(1)) bench.keep(object, of);
      }
      for (let index = 0; index < 10; index++) await bench.answer('writes');
      await bench.drainAll();
      expect([code, bench.hints.kept]).toEqual([code, left]);
    }
  });

  it('are not delivered beyond the number of those of which the node can remember that they are', async () => {
    const bench = new Bench();
    const [object] = writesOf(1);
    for (const name of ['k', 'l', 'm', 'n', 'o', 'p'])
      bench.keep(
        present(object, 'a write'),
        objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed,
      );
    for (let count = 0; count < 6; count++) await bench.answer('writes');
    bench.store.isFailed = true;
    await bench.drainAll();
    // One window, in which the limit was reached.
    expect(bench.replica.asked).toBe(options.windowMax);
  });

  it('are aged by no jump of the wall clock, neither while the node runs nor while it is down', async () => {
    for (const isDown of [false, true]) {
      const bench = new Bench();
      for (const object of writesOf(1)) bench.keep(object);
      await bench.answer('writes');
      bench.clock.aheadMs += 10 * options.ageMsMax;
      if (isDown) await bench.restart();
      await bench.drainAll();
      expect(bench.hints.counts).toMatchObject({ delivered: 1, expired: 0 });
    }
  });

  it('age while the node runs, also after a restart', async () => {
    for (const isRestarted of [false, true]) {
      const bench = new Bench();
      for (const object of writesOf(1)) bench.keep(object);
      await bench.answer('writes');
      if (isRestarted) await bench.restart();
      bench.clock.pass((options.ageMsMax + 1) * 1_000);
      await bench.drainAll();
      expect(bench.hints.counts).toMatchObject({ delivered: 0, expired: 1 });
    }
  });

  it('retain the newer write of a key when the older one is added after it', async () => {
    const bench = new Bench();
    const writes = writesOf(3);
    const [older, newer] = [present(writes[0], 'a write'), present(writes[2], 'a write')];
    for (const object of [newer, older]) {
      bench.keep(object);
      for (const queue of ['reads', 'writes'] as const) await bench.answer(queue);
    }
    await bench.drainAll();
    expect(bench.replica.held).toEqual(mergeObjects(older, newer));
    expect(bench.hints.counts).toEqual({ stored: 2, delivered: 1, handedOn: 0, expired: 0, dropped: 0 });
  });

  it('are no older for an older write of their key that another node hands over', async () => {
    for (const isKept of [true, false]) {
      const bench = new Bench();
      const writes = writesOf(2);
      const [older, newer] = [present(writes[0], 'a write'), present(writes[1], 'a write')];
      const ageMs = options.ageMsMax - 10;
      const handed = { peer, key, token: 7 as Token, ageMs, object: encodeObject(older) };
      bench.keep(newer);
      if (isKept) await bench.answer('writes');
      bench.hints.adopt(handed, (error) => expect(error).toBeUndefined());
      for (const queue of ['reads', 'writes', 'writes'] as const) await bench.answer(queue);
      bench.clock.pass((options.ageMsMax - 1) * 1_000);
      await bench.drainAll();
      expect([isKept, bench.hints.counts]).toMatchObject([isKept, { delivered: 1, expired: 0 }]);
      expect(bench.replica.held).toEqual(mergeObjects(older, newer));
    }
  });

  it('are removed only when their replica has every write added, in any order of answers', async () => {
    const others = fc.constantFrom('drain', 'reads', 'writes', 'replies');
    const step = fc.oneof(fc.nat(7), others);
    const writes = writesOf(8);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const bench = new Bench();
        let kept: StoredObject | undefined;
        for (const one of steps) {
          if (typeof one === 'number') {
            const object = present(writes[one], 'a write');
            kept = kept === undefined ? object : mergeObjects(kept, object);
            bench.keep(object);
          } else if (one === 'drain') {
            bench.hints.drain(peer);
            await settle();
          } else {
            await bench.answer(one);
          }
        }
        await bench.drainAll();
        expect(bench.store.durable.size).toBe(0);
        expect(bench.hints.keepsFor(key)).toBe(false);
        expect(bench.hints.counts.dropped).toBe(0);
        if (kept === undefined) expect(bench.replica.held).toBeUndefined();
        else expect(bench.replica.held !== undefined && sameObject(kept, bench.replica.held)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
