import { describe, expect, it } from 'vitest';

import { Deferred } from '../../../engine/base/deferred.ts';
import type { LockstepError } from '../../../engine/base/errors.ts';
import type { Timer } from '../../../engine/io/clock.ts';
import type { DiskFile } from '../../../engine/io/disk.ts';
import type { DriverLimits, ReadDone } from '../../../engine/storage/driver.ts';
import { driverDefaults, StoreDriver } from '../../../engine/storage/driver.ts';
import type { StoreObserver } from '../../../engine/storage/observer.ts';
import { silentObserver } from '../../../engine/storage/observer.ts';
import type { Store } from '../../../engine/storage/store.ts';
import type { StoreIo } from '../../../engine/storage/store-io.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import {
  keyNumber,
  makeStoreHarness,
  openStore,
  smallOptions,
  writesOf,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

type Counts = Record<keyof StoreObserver, number>;

/** A disk whose next read waits until the test releases it, and so do all syncs. */
class GatedDisk extends JournalDisk {
  gate: Deferred<void> | undefined;
  syncGate: Deferred<void> | undefined;

  override async open(...named: Parameters<JournalDisk['open']>): Promise<DiskFile> {
    const file = await super.open(...named);
    const readAt = file.readAt.bind(file);
    file.readAt = async (into, offset) => {
      const { gate } = this;
      this.gate = undefined;
      await gate?.promise;
      return readAt(into, offset);
    };
    const sync = file.sync.bind(file);
    file.sync = async () => {
      await this.syncGate?.promise;
      return sync();
    };
    return file;
  }
}

interface Stage {
  readonly disk: GatedDisk;
  readonly driver: StoreDriver;
  readonly store: Store;
  readonly counts: Counts;
  /** Lets time pass: timers that are due fire. */
  pass(us: number): void;
}

async function stage(
  limits: Partial<DriverLimits> = {},
  cacheBytes = smallOptions.cacheBytes,
): Promise<Stage> {
  const disk = new GatedDisk();
  const room = makeStoreHarness(disk, WorldRandom.root('driver'));
  const timers: { atUs: number; fire: (() => void) | undefined }[] = [];
  let nowUs = 0;
  const after = (delayUs: number, fire: () => void): Timer => {
    const timer: { atUs: number; fire: (() => void) | undefined } = { atUs: nowUs + delayUs, fire };
    timers.push(timer);
    return { cancel: () => (timer.fire = undefined) };
  };
  const io: StoreIo = { ...room.io, clock: { nowUs: () => nowUs, wallMs: () => 0, after } };
  const store = await openStore({ ...room, io }, { ...smallOptions, cacheBytes });
  const counts = Object.fromEntries(Object.keys(silentObserver).map((name) => [name, 0])) as Counts;
  const count = (name: keyof StoreObserver) => (): void => void (counts[name] += 1);
  const observer: StoreObserver = {
    readRequested: count('readRequested'),
    readAnswered: count('readAnswered'),
    writeRequested: count('writeRequested'),
    writeAnswered: count('writeAnswered'),
    queueWaited: count('queueWaited'),
    requestDropped: count('requestDropped'),
    operationFailed: count('operationFailed'),
    requestTimedOut: count('requestTimedOut'),
    driverTimedOut: count('driverTimedOut'),
    ejected: count('ejected'),
    closed: count('closed'),
  };
  const driver = new StoreDriver(io, store, observer, { ...driverDefaults, ...limits });
  const pass = (us: number): void => {
    nowUs += us;
    for (const timer of timers.filter(({ atUs }) => atUs <= nowUs)) {
      const { fire } = timer;
      timer.fire = undefined;
      fire?.();
    }
  };
  return { disk, driver, store, counts, pass };
}

const one = writesOf([{ key: 1, value: Buffer.from('one') }]);

/** Records a read's value as text, or its error code. */
function textOr(answers: string[]): ReadDone {
  return (_error, value, withheldBytes) => {
    if (withheldBytes !== undefined) answers.push(`${withheldBytes} bytes withheld`);
    else answers.push(value === undefined ? 'nothing' : Buffer.from(value).toString());
  };
}

async function turns(count = 200): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

describe('the driver', () => {
  it('answers a write later and once, and a read of it from memory at once', async () => {
    const { driver, counts } = await stage();
    const answers: (LockstepError | undefined)[] = [];
    expect(driver.tryWrite(one, (error) => answers.push(error))).toBe('ok');
    expect(answers).toEqual([]);
    expect([driver.inQueue, driver.outQueue]).toEqual([0, 1]);
    await turns();
    expect(answers).toEqual([undefined]);
    let read: string | undefined;
    driver.tryRead(keyNumber(1), (_error, value) => (read = value && Buffer.from(value).toString()));
    expect(read).toBe('one');
    expect([driver.inQueue, driver.outQueue, driver.outQueueBytes]).toEqual([0, 0, 0]);
    expect(counts).toMatchObject({ writeRequested: 1, writeAnswered: 1, readRequested: 1, readAnswered: 1 });
  });

  it('counts what it shows of memory as it counts reads, and leaves to them what memory does not hold', async () => {
    const { driver, counts } = await stage({}, 0);
    expect(driver.inMemory(keyNumber(1))).toBeUndefined();
    driver.tryWrite(one, () => undefined);
    await turns();
    expect(driver.inMemory(keyNumber(1))).toBe('elsewhere');
    expect(counts).toMatchObject({ readRequested: 1, readAnswered: 1 });
    const cached = await stage();
    cached.driver.tryWrite(one, () => undefined);
    await turns();
    expect(cached.driver.inMemory(keyNumber(1))).toEqual(Buffer.from('one'));
    expect(cached.counts).toMatchObject({ readRequested: 1, readAnswered: 1, queueWaited: 2 });
    cached.driver.close();
    expect(cached.driver.inMemory(keyNumber(1))).toBe('elsewhere');
  });

  it('reads the value of a key that may have lost a newer one as it reads any other', async () => {
    const { driver, counts } = await stage({}, 0);
    driver.tryWrite(one, () => undefined);
    await turns();
    const found: (string | undefined)[] = [];
    const note = (value: Uint8Array | undefined): unknown =>
      found.push(value && Buffer.from(value).toString());
    for (const key of [1, 2]) driver.tryReadDoubted(keyNumber(key), (_error, value) => note(value));
    await turns();
    expect(found.toSorted()).toEqual(['one', undefined]);
    expect(counts).toMatchObject({ readRequested: 2, readAnswered: 2 });
    driver.close();
    expect(driver.tryReadDoubted(keyNumber(1), () => undefined)).toBe('closed');
  });

  it('queues what the store should not have yet, refuses what the queue cannot hold, and answers all it took', async () => {
    const { driver, counts } = await stage({ storeWritesMax: 2, queueCountMax: 3 });
    let answered = 0;
    const outcomes = Array.from({ length: 7 }, () => driver.tryWrite(one, () => (answered += 1)));
    expect(outcomes).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'full', 'full']);
    expect([driver.inQueue, driver.outQueue]).toEqual([3, 2]);
    await turns(1000);
    expect(answered).toBe(5);
    expect(counts).toMatchObject({ writeRequested: 5, writeAnswered: 5, requestDropped: 2, queueWaited: 5 });
  });

  it('reads while every write is stuck', async () => {
    const { driver, disk } = await stage();
    driver.tryWrite(one, () => undefined);
    await turns();
    disk.halt();
    for (let index = 0; index < 5; index++) driver.tryWrite(one, () => undefined);
    await turns();
    let read = false;
    driver.tryRead(keyNumber(1), () => (read = true));
    expect(read).toBe(true);
  });

  it('answers a read with Timeout once when the disk is silent, and ignores what comes late', async () => {
    const { driver, disk, counts, pass } = await stage({ timeoutUs: 1000 }, 0);
    driver.tryWrite(one, () => undefined);
    await turns();
    const gate = new Deferred<void>();
    disk.gate = gate;
    const codes: (string | undefined)[] = [];
    driver.tryRead(keyNumber(1), (error) => codes.push(error?.code));
    pass(1100);
    expect(codes).toEqual(['Timeout']);
    gate.resolve();
    await turns();
    expect(codes).toEqual(['Timeout']);
    expect(counts).toMatchObject({ requestTimedOut: 1, driverTimedOut: 1, readAnswered: 0 });
  });

  it('answers every write with the store’s answer, however late, and counts the silence once', async () => {
    const { driver, disk, store, counts, pass } = await stage({ timeoutUs: 1000, storeWritesMax: 1 });
    const still = new Deferred<void>();
    disk.syncGate = still;
    const answers: string[] = [];
    const write = (key: number): void => {
      const batch = writesOf([{ key, value: Buffer.from(String(key)) }]);
      driver.tryWrite(batch, (error) => answers.push(`${key} ${error?.code ?? 'durable'}`));
    };
    write(1);
    pass(600);
    // Waits in the queue of the driver, behind what the store has.
    write(2);
    pass(500);
    pass(600);
    await turns();
    expect(answers).toEqual([]);
    expect([driver.inQueue, driver.outQueue]).toEqual([1, 1]);
    expect(counts).toMatchObject({ requestTimedOut: 2, driverTimedOut: 1, writeAnswered: 0 });
    disk.syncGate = undefined;
    still.resolve();
    await turns(1000);
    expect(answers).toEqual(['1 durable', '2 durable']);
    expect([...store.keys()].toSorted()).toEqual([keyNumber(1), keyNumber(2)]);
    expect(counts).toMatchObject({
      requestTimedOut: 2,
      driverTimedOut: 1,
      writeAnswered: 0,
      operationFailed: 0,
    });
    write(3);
    await turns();
    expect(counts).toMatchObject({ requestTimedOut: 2, writeAnswered: 1 });
  });

  it('reports a store that went out of service, and refuses nothing silently', async () => {
    const { driver, disk, counts } = await stage();
    disk.watch((operation) => (operation === 'sync' ? 'fail' : undefined));
    const codes: (string | undefined)[] = [];
    driver.tryWrite(one, (error) => codes.push(error?.code));
    await turns();
    driver.tryWrite(one, (error) => codes.push(error?.code));
    await turns();
    expect(codes).toEqual(['StorageFailed', 'StorageFailed']);
    expect(counts).toMatchObject({ ejected: 1, operationFailed: 2, writeAnswered: 2 });
  });

  it('refuses everything once closed and still answers what it took', async () => {
    const { driver, counts } = await stage();
    let answered = false;
    driver.tryWrite(one, () => (answered = true));
    driver.close();
    expect(driver.tryWrite(one, () => undefined)).toBe('closed');
    expect(driver.tryRead(keyNumber(1), () => undefined)).toBe('closed');
    await turns();
    expect(answered).toBe(true);
    expect(counts).toMatchObject({ closed: 1, requestDropped: 2 });
  });

  it('queues reads that need the disk beyond their limit, and answers them all', async () => {
    const { driver } = await stage({ diskReadsMax: 2 }, 0);
    driver.tryWrite(one, () => undefined);
    await turns();
    let answered = 0;
    for (let index = 0; index < 9; index++) driver.tryRead(keyNumber(1), () => (answered += 1));
    expect(answered).toBe(0);
    expect([driver.inQueue, driver.outQueue]).toEqual([7, 2]);
    await turns(500);
    expect(answered).toBe(9);
  });

  it('tells how long a value on the disk is where less was asked for, and reads what is not longer', async () => {
    const { driver, counts } = await stage({ diskReadsMax: 1 }, 0);
    driver.tryWrite(one, () => undefined);
    await turns();
    const answers: string[] = [];
    const read = (bytesMax?: number): void => void driver.tryRead(keyNumber(1), textOr(answers), bytesMax);
    read(2);
    expect(answers).toEqual(['3 bytes withheld']);
    read(3);
    read(2);
    read();
    expect([driver.inQueue, driver.outQueue]).toEqual([2, 1]);
    await turns(500);
    expect(answers).toEqual(['3 bytes withheld', 'one', '3 bytes withheld', 'one']);
    expect(counts).toMatchObject({ readRequested: 4, readAnswered: 4, queueWaited: 5 });
  });

  it('tells what memory holds, however little was asked for', async () => {
    const { driver } = await stage();
    driver.tryWrite(one, () => undefined);
    await turns();
    const answers: string[] = [];
    driver.tryRead(keyNumber(1), textOr(answers), 0);
    driver.tryRead(keyNumber(2), textOr(answers), 0);
    expect(answers).toEqual(['one', 'nothing']);
  });

  it('answers reads of a closing store before it has closed', async () => {
    const { driver, store, disk } = await stage({}, 0);
    driver.tryWrite(one, () => undefined);
    await turns();
    const answers: string[] = [];
    const gate = new Deferred<void>();
    disk.gate = gate;
    driver.tryRead(keyNumber(1), textOr(answers));
    driver.close();
    const closing = store.close().then(() => answers.push('closed'));
    await turns(1000);
    expect([answers, driver.outQueue]).toEqual([[], 1]);
    gate.resolve();
    await closing;
    expect([answers, driver.outQueue]).toEqual([['one', 'closed'], 0]);
  });
});
