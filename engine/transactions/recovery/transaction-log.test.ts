import { describe, expect, it } from 'vitest';

import type { SendOutcome } from '../../base/channel.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { WriteDone } from '../../replica/key-slots.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { TransactionLog } from './transaction-log.ts';
import { branchBucket, dropBranch, dropDecision } from '../formats/records.ts';
import { makeXid } from '../formats/xid.fixture.ts';

const n1 = 'n1' as NodeId;

/** A store whose queue is full while `answer` says so. */
class FullStore {
  answer: SendOutcome = 'full';
  refusals = 0;
  readonly taken: StoreWrite[] = [];

  tryRead(): SendOutcome {
    return 'closed';
  }

  keysOfBucket(): readonly [] {
    return [];
  }

  isSuspicious(): boolean {
    return false;
  }

  tryWrite(batch: readonly StoreWrite[], done: WriteDone): SendOutcome {
    if (this.answer !== 'ok') this.refusals += 1;
    if (this.answer !== 'ok') return this.answer;
    this.taken.push(...batch);
    done(undefined);
    return 'ok';
  }
}

const record = (counter: number): StoreWrite => dropBranch(makeXid(n1, '0123456789ab', counter));

/** A log over a store with one record, whose first reads fail with these errors. */
function logOfOne(...errors: readonly ErrorCode[]): TransactionLog {
  const left = [...errors];
  return new TransactionLog({
    keysOfBucket: (prefix) => [`${prefix}one` as PackedKey],
    tryRead: (_key, done) => {
      const code = left.shift();
      if (code === undefined) done(undefined, Buffer.from('record'));
      else done(new LockstepError(code, 'as the test says'), undefined);
      return 'ok';
    },
    tryWrite: () => 'closed',
    isSuspicious: () => false,
  });
}

describe('a record that a start finds', () => {
  it('is read again if the disk fails, and ends the start if that goes on', async () => {
    const found = [{ name: 'one', bytes: Buffer.from('record') }];
    expect(await logOfOne('StorageFailed', 'Timeout').scan(branchBucket)).toEqual(found);
    const failing = logOfOne(...Array.from({ length: 9 }, (): ErrorCode => 'StorageFailed'));
    await expect(failing.scan(branchBucket)).rejects.toMatchObject({ code: 'StorageFailed' });
  });

  it('is damaged only if its bytes are', async () => {
    expect(await logOfOne('Corrupted').scan(branchBucket)).toEqual([{ name: 'one', bytes: undefined }]);
  });
});

describe('unforced records', () => {
  it('are kept while the store is full, and written in sequence afterwards', () => {
    const store = new FullStore();
    const log = new TransactionLog(store);
    const heard: string[] = [];
    for (const counter of [1, 2]) {
      const durable = (): void => void heard.push(`durable ${counter}`);
      log.later(record(counter), { handedOver: () => heard.push(`handed ${counter}`), durable });
    }
    log.flush();
    log.flush();
    log.later(record(3));
    expect([store.taken, heard]).toEqual([[], []]);
    store.answer = 'ok';
    log.flush();
    log.flush();
    expect(store.taken).toEqual([record(1), record(2), record(3)]);
    expect([...heard].sort()).toEqual(['durable 1', 'durable 2', 'handed 1', 'handed 2']);
  });

  it('are bounded: the oldest are dropped, and the store is not asked for each', () => {
    const store = new FullStore();
    const log = new TransactionLog(store);
    for (let counter = 1; counter <= 20_000; counter++) log.later(record(counter));
    expect(store.refusals).toBeLessThan(200);
    store.answer = 'ok';
    log.flush();
    expect(store.taken.length).toBeLessThanOrEqual(16_384);
    expect(store.taken.at(-1)).toEqual(record(20_000));
  });

  it('do not overwrite a forced record with the same key', async () => {
    const store = new FullStore();
    const log = new TransactionLog(store);
    const decision = dropDecision(makeXid(n1, '0123456789ab', 1));
    log.later({ ...decision, value: Buffer.from('ended') });
    log.later(record(2));
    const { tryWrite } = store;
    // The batch exceeds the store's queue; the forced record alone fits.
    store.tryWrite = (batch, done) => {
      store.answer = batch.length > 1 ? 'full' : 'ok';
      return tryWrite.call(store, batch, done);
    };
    expect(await log.force([decision])).toBe(undefined);
    expect(store.taken).toEqual([decision]);
    log.flush();
    expect(store.taken).toEqual([decision, record(2)]);
  });

  it('are written again, before newer ones, if their write fails; not if a newer record of the key followed', async () => {
    const store = new FullStore();
    store.answer = 'ok';
    const answers: WriteDone[] = [];
    store.tryWrite = (batch, done) => {
      store.taken.push(...batch);
      answers.push(done);
      return 'ok';
    };
    const log = new TransactionLog(store);
    const heard: number[] = [];
    for (const counter of [1, 2, 3]) log.later(record(counter), { durable: () => heard.push(counter) });
    log.flush();
    const forced = log.force([{ ...record(2), value: Buffer.from('prepared') }]);
    log.later({ ...record(3), value: Buffer.from('newer') });
    log.flush();
    log.later(record(4));
    for (const done of answers.splice(0, 1)) done(new LockstepError('Timeout'));
    for (const done of answers.splice(0)) done(undefined);
    expect(await forced).toBeUndefined();
    store.taken.length = 0;
    log.flush();
    expect(store.taken).toEqual([record(1), record(4)]);
    for (const done of answers) done(undefined);
    expect(heard).toEqual([1]);
  });
});
