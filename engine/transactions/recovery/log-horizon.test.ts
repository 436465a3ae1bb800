import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { RecordStore } from './transaction-log.ts';
import { TransactionLog } from './transaction-log.ts';
import { LogHorizon } from './log-horizon.ts';
import { incarnationsKey } from '../formats/records.ts';
import type { Xid } from '../formats/xid.ts';

/** A disk that keeps what one incarnation writes for the next ones. `broken`: it cannot be read. */
class Disk implements RecordStore {
  readonly records = new Map<PackedKey, Uint8Array>();
  broken = false;
  /** A start has found that records are lost. */
  lossy = false;

  readonly tryRead: RecordStore['tryRead'] = (key, done) => {
    if (this.broken) done(new LockstepError('Corrupted'), undefined);
    else done(undefined, this.records.get(key));
    return 'ok';
  };

  readonly tryWrite: RecordStore['tryWrite'] = (batch, done) => {
    for (const { key, value } of batch) if (value !== undefined) this.records.set(key, value);
    done(undefined);
    return 'ok';
  };

  isSuspicious(): boolean {
    return this.lossy;
  }

  keysOfBucket(): Iterable<PackedKey> {
    return this.records.keys();
  }
}

const nameOf = (life: number): string => `n1-${life.toString(16).padStart(12, '0')}`;
const xidOf = (life: number): Xid => `${nameOf(life)}-7` as Xid;

async function liveOn(disk: Disk, life: number, log = new TransactionLog(disk)): Promise<LogHorizon> {
  const memory = new LogHorizon(
    log,
    { own: () => life, of: () => 0, isOver: () => false, hasLeft: () => false, isCopying: () => false },
    nameOf(life),
  );
  await memory.recover();
  return memory;
}

describe('the log horizon covers', () => {
  it('this incarnation, and every earlier one that wrote to the disk', async () => {
    const disk = new Disk();
    expect((await liveOn(disk, 1)).isFirst).toBe(true);
    await liveOn(disk, 2);
    const memory = await liveOn(disk, 3);
    expect(memory.isFirst).toBe(false);
    for (const life of [1, 2, 3]) expect(memory.reachesBackToNameOf(xidOf(life))).toBe(true);
  });

  it('no incarnation that wrote to another disk', async () => {
    await liveOn(new Disk(), 1);
    const memory = await liveOn(new Disk(), 2);
    expect(memory.reachesBackToNameOf(xidOf(1))).toBe(false);
    expect(memory.reachesBackToNameOf(xidOf(2))).toBe(true);
  });

  it('only this incarnation while the disk cannot be read; the next one covers the earlier ones again', async () => {
    const disk = new Disk();
    await liveOn(disk, 1);
    disk.broken = true;
    const blind = await liveOn(disk, 2);
    expect([1, 2].map((life) => blind.reachesBackToNameOf(xidOf(life)))).toEqual([false, true]);
    disk.broken = false;
    const next = await liveOn(disk, 3);
    expect([1, 2, 3].map((life) => next.reachesBackToNameOf(xidOf(life)))).toEqual([true, false, true]);
  });

  it('only this incarnation when the record of the others does not decode', async () => {
    const disk = new Disk();
    await liveOn(disk, 1);
    disk.records.set(incarnationsKey, Buffer.from('garbage'));
    const memory = await liveOn(disk, 2);
    expect([1, 2].map((life) => memory.reachesBackToNameOf(xidOf(life)))).toEqual([false, true]);
  });

  it('no more than the newest 512 incarnations', async () => {
    const disk = new Disk();
    let memory = await liveOn(disk, 1);
    for (let life = 2; life <= 513; life++) memory = await liveOn(disk, life);
    expect([1, 2, 513].map((life) => memory.reachesBackToNameOf(xidOf(life)))).toEqual([false, true, true]);
  });
});

it('a log that has lost records reaches back to the start that found so, and no further, also after the next one', async () => {
  const disk = new Disk();
  const log = new TransactionLog(disk);
  (await liveOn(disk, 1, log)).tick();
  log.flush();
  expect((await liveOn(disk, 2)).reachesBackTo(1)).toBe(true);
  disk.lossy = true;
  const found = await liveOn(disk, 3, log);
  expect([2, 3].map((life) => found.reachesBackTo(life))).toEqual([false, true]);
  found.tick();
  log.flush();
  disk.lossy = false;
  const next = await liveOn(disk, 4);
  expect([2, 3].map((life) => next.reachesBackTo(life))).toEqual([false, true]);
});
