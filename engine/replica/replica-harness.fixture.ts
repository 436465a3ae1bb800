/** A replica over a store whose answers the test releases. */
import type { SendOutcome } from '../base/channel.ts';
import type { Clock } from '../io/clock.ts';
import { LockstepError } from '../base/errors.ts';
import type { ByteString, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { StoreWrite } from '../storage/store.ts';
import type { MemoryStore, ReadDone, WriteDone } from './key-slots.ts';
import type { Content } from './object/content.ts';
import { tombstone } from './object/content.ts';
import type { Actor } from './object/dots.ts';
import { emptyVector } from './object/dots.ts';
import type { StoredObject } from './object/object.ts';
import type { ConflictRules, LocalWrite } from './replica.ts';
import { Replica } from './replica.ts';

/** A store that holds back every answer until the test releases it; a write is visible only from then on. */
export class SlowStore implements MemoryStore {
  readonly durable = new Map<PackedKey, Uint8Array>();
  readonly pending: (() => void)[] = [];
  full = false;
  failing = false;
  /** Keys whose values cannot be read until they are written again. */
  readonly rotten = new Set<PackedKey>();
  /** Those of them of which an older value can be read. */
  readonly doubted = new Set<PackedKey>();
  /** Those that stay doubtful although they are written. */
  readonly kept = new Set<PackedKey>();

  inMemory(): 'elsewhere' {
    return 'elsewhere';
  }

  tryRead(key: PackedKey, done: ReadDone): SendOutcome {
    if (this.full) return 'full';
    this.pending.push(() => {
      if (this.rotten.has(key) || this.kept.has(key)) done(new LockstepError('Corrupted'), undefined);
      else done(undefined, this.durable.get(key));
    });
    return 'ok';
  }

  tryReadDoubted(key: PackedKey, done: ReadDone): SendOutcome {
    if (this.full) return 'full';
    this.pending.push(() => {
      const isReadable = this.doubted.has(key) || this.hasNewest(key);
      done(undefined, isReadable ? this.durable.get(key) : undefined);
    });
    return 'ok';
  }

  keepDoubt(key: PackedKey): void {
    this.kept.add(key);
  }

  keepsDoubt(key: PackedKey): boolean {
    return this.kept.has(key);
  }

  hasNewest(key: PackedKey): boolean {
    return !this.rotten.has(key) && this.durable.has(key);
  }

  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome {
    if (this.full) return 'full';
    this.pending.push(() => {
      if (this.failing) {
        done(new LockstepError('StorageFailed'));
        return;
      }
      for (const { key, value } of batch) {
        this.rotten.delete(key);
        if (value === undefined) this.durable.delete(key);
        else this.durable.set(key, value);
      }
      done(undefined);
    });
    return 'ok';
  }

  /** Releases the oldest `count` answers, or all of them. */
  release(count = Infinity): void {
    for (let left = count; left > 0; left--) {
      const answer = this.pending.shift();
      if (answer === undefined) return;
      answer();
    }
  }
}

/** A store of which nothing is lost. */
export const nothingLost: Pick<MemoryStore, 'keepDoubt' | 'keepsDoubt' | 'hasNewest'> = {
  keepDoubt: () => undefined,
  keepsDoubt: () => false,
  hasNewest: () => true,
};

/** What a coordinated write has reported so far. */
export interface Outcome {
  applied?: StoredObject;
  bytes?: Buffer;
  durable: boolean;
  failed?: LockstepError;
}

/** The actor of a replica over which no other is named. */
export const actor = byteStringOf('n1.aa') as Actor;
/** A clock that stands still. */
export const clock: Clock = {
  nowUs: () => 0,
  wallMs: () => 1000,
  after: () => ({ cancel: () => undefined }),
};
/** The rules of a bucket that keeps siblings. */
export const siblings: ConflictRules = { allowMult: true, lastWriteWins: false };
/** The rules of a bucket that keeps the newest version. */
export const newest: ConflictRules = { allowMult: false, lastWriteWins: false };

/** A key of one bucket. */
export function keyOf(name: string): PackedKey {
  return objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed;
}

/** A text as the content of a version. */
export function contentOf(text: string): Content {
  return {
    ...tombstone,
    tombstone: false,
    contentType: 'text/plain' as ByteString,
    value: Buffer.from(text),
  };
}

/** A client's write. */
export function writeOf(key: PackedKey, text: string, more: Partial<LocalWrite> = {}): LocalWrite {
  const base = { key, token: 7 as Token, seen: emptyVector, ifNoneMatch: false, ifContext: undefined };
  return { ...base, content: contentOf(text), ...more };
}

/** A replica over the store. */
export function replicaOver(store: MemoryStore, rules: ConflictRules, name = 'n1.aa'): Replica {
  return new Replica(store, clock, byteStringOf(name) as Actor, () => rules);
}

/** Starts a write; the store decides when it continues. */
export function coordinate(replica: Replica, write: LocalWrite): Outcome {
  const outcome: Outcome = { durable: false };
  const sent = replica.coordinate(write, {
    applied: (object, bytes) => Object.assign(outcome, { applied: object, bytes }),
    durable: () => Object.assign(outcome, { durable: true }),
    failed: (error) => Object.assign(outcome, { failed: error }),
  });
  if (sent !== 'ok') outcome.failed = new LockstepError('Overloaded');
  return outcome;
}

/** The siblings' texts. */
export const values = (object: StoredObject | undefined): readonly string[] =>
  (object?.siblings ?? []).map((sibling) => Buffer.from(sibling.value).toString());
