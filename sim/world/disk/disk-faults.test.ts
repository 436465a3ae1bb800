/** What faults do to disks, what a crash leaves under each survival, and what the world reports as durable. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Disk, DiskFile } from '../../../engine/io/disk.ts';
import { DiskError, readFile, writeFully } from '../../../engine/io/disk.ts';
import type { DurableRun } from './durable-runs.ts';
import type { Host, Survival } from '../cluster/host.ts';
import { constantLatency } from '../core/latency.ts';
import { World } from '../world.ts';

describe('a crash of the machine', () => {
  it('with prefix leaves each file up to a place in the order of writing', async () => {
    const lengths = new Set<number>();
    for (let seed = 1; seed <= 40; seed++) {
      const room = diskRoom(seed);
      await room.run(async (disk) => {
        const file = await appended(disk, 'log', [Buffer.alloc(1000, 1)]);
        await file.sync();
        for (let fill = 2; fill <= 5; fill++)
          await writeFully(file, [Buffer.alloc(1000, fill)], (fill - 1) * 1000);
      });
      const bytes = await room.afterCrash('prefix', 'log');
      lengths.add(bytes.length);
      expect(bytes.every((byte, at) => byte === 1 + Math.floor(at / 1000))).toBe(true);
      expect(bytes.length === 5000 || bytes.length % 512 === 0 || bytes.length === 1000).toBe(true);
    }
    expect(lengths.size).toBeGreaterThan(3);
  });

  it('with torn leaves a sector in part, and its sectors are in the ledger', async () => {
    let torn = 0;
    let halved = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const room = diskRoom(seed);
      await room.run(async (disk) => {
        await appended(disk, 'log', [Buffer.alloc(3000, 9)]);
        await disk.syncDirectory('');
      });
      const bytes = await room.afterCrash('torn', 'log');
      const there = bytes.filter((byte) => byte === 9).length;
      if (there % 512 !== 0 && there !== 3000) halved += 1;
      torn += room.world.ledger.total({ kind: 'torn-write', effect: 'sectorTorn' });
      const kept = room.world.ledger.total({ kind: 'torn-write', effect: 'sectorKept' });
      expect(Math.floor(there / 512)).toBeLessThanOrEqual(kept);
    }
    expect(halved).toBeGreaterThan(20);
    expect(torn).toBeGreaterThanOrEqual(halved);
  });

  it('is like a new file system: everything found is durable, whatever the next crash takes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.constantFrom<Survival>('dropAll', 'subset', 'prefix', 'torn'),
        async (seed, survival) => {
          const room = diskRoom(seed);
          await room.run(async (disk) => {
            await disk.makeDirectory('d');
            for (const name of ['d/x', 'd/y', 'z']) await appended(disk, name, [Buffer.alloc(1500, 3)]);
            await disk.rename('d/x', 'd/w');
            await disk.syncDirectory('d');
            await disk.remove('d/y');
          });
          room.host.crash(survival);
          const found = room.host.disk.copy();
          expect(room.host.disk.durableFiles()).toEqual(new Map([...found.files].toSorted()));
          room.host.boot();
          room.host.crash('dropAll');
          expect(room.host.disk.copy()).toEqual(found);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('after a crash of the process alone still takes what was never synced', async () => {
    const room = diskRoom(1);
    await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.from('synced')]);
      await file.sync();
      await disk.syncDirectory('');
      await writeFully(file, [Buffer.from(', not synced')], 6);
    });
    expect((await room.afterCrash('keepAll', 'log')).toString()).toBe('synced, not synced');
    expect((await room.afterCrash('dropAll', 'log')).toString()).toBe('synced');
  });

  it('does not make durable what a sync that came before the answer to a write did not cover', async () => {
    const room = diskRoom(1);
    await room.run(async (disk) => {
      const file = await disk.open('log', 'create');
      await disk.syncDirectory('');
      const writing = writeFully(file, [Buffer.from('in flight')], 0);
      await file.sync();
      await writing;
    });
    expect((await room.afterCrash('dropAll', 'log')).toString()).toBe('');
  });
});

describe('what is durable', () => {
  it('is, after every sync, what an array of bytes would hold', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('write' as const),
        at: fc.nat(9000),
        bytes: fc.integer({ min: 1, max: 3000 }),
      }),
      fc.record({ kind: fc.constant('truncate' as const), at: fc.nat(20_000) }),
      fc.record({ kind: fc.constant('sync' as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const room = diskRoom(1);
        let model: Buffer = Buffer.alloc(0);
        let durable = model;
        await room.run(async (disk) => {
          const file = await disk.open('log', 'create');
          await disk.syncDirectory('');
          for (const [index, action] of steps.entries()) {
            if (action.kind === 'sync') {
              await file.sync();
              durable = Buffer.from(model);
            } else if (action.kind === 'truncate') {
              await file.truncate(action.at);
              model = resized(model, action.at);
            } else {
              const bytes = Buffer.alloc(action.bytes, index + 1);
              await writeFully(file, [bytes], action.at);
              model = resized(model, Math.max(model.length, action.at + bytes.length));
              bytes.copy(model, action.at);
            }
          }
        });
        expect(await room.afterCrash('dropAll', 'log')).toEqual(durable);
      }),
      { numRuns: 100 },
    );
  });

  it('is told once it is, under a durable name, and is what a crash leaves', async () => {
    const room = diskRoom(1);
    const runs: string[] = [];
    const tell = ({ path, image, from, to }: DurableRun): void =>
      void runs.push(`${path} ${image.toString('latin1', from, to)}`);
    room.host.disk.onDurable(tell);
    await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.from('one ')]);
      await file.sync();
      expect(runs).toEqual([]);
      await disk.syncDirectory('');
      expect(runs).toEqual(['log one ']);
      await writeFully(file, [Buffer.from('two ')], 4);
      expect(runs).toHaveLength(1);
      await file.sync();
    });
    expect(runs).toEqual(['log one ', 'log two ']);
    expect(room.host.disk.durableFiles()).toEqual(new Map([['log', Buffer.from('one two ')]]));
    expect((await room.afterCrash('dropAll', 'log')).toString()).toBe('one two ');
  });
});

describe('a disk fault', () => {
  it('strikes the files, the operations and as often as it says', async () => {
    const room = diskRoom(1);
    room.host.disk.inject({ kind: 'write-error', pathPrefix: 'log/', count: 2 });
    room.host.disk.inject({ kind: 'read-error', pathPrefix: 'other', count: 1 });
    const failures = await room.run(async (disk) => {
      await disk.makeDirectory('log');
      const log = await disk.open('log/1', 'create');
      const other = await appended(disk, 'other', [Buffer.from('x')]);
      const calls = [() => log.writeAt([Buffer.from('x')], 0), () => other.readAt(Buffer.alloc(1), 0)];
      const found: string[] = [];
      for (const which of [0, 0, 0, 1, 1]) found.push(await failureOf(calls[which]));
      return found;
    });
    expect(failures).toEqual(['fault', 'fault', 'none', 'fault', 'none']);
    expect(
      room.world.ledger.total({ kind: 'write-error', place: 'n1:log/1', effect: 'operationFailed' }),
    ).toBe(2);
    expect(room.world.ledger.total({ kind: 'read-error', effect: 'operationFailed' })).toBe(1);
  });

  it('of a sync drops what it covered, with an error or (lying) without one', async () => {
    for (const kind of ['sync-error', 'lying-sync'] as const) {
      const room = diskRoom(1);
      await room.run(async (disk) => {
        const file = await appended(disk, 'log', [Buffer.alloc(600, 1)]);
        await disk.syncDirectory('');
        room.host.disk.inject({ kind, count: 1 });
        expect(await failureOf(() => file.sync())).toBe(kind === 'sync-error' ? 'fault' : 'none');
        await writeFully(file, [Buffer.alloc(600, 2)], 600);
        await file.sync();
        expect((await readFile(disk, 'log', 9999))?.indexOf(1)).toBe(0);
      });
      const bytes = await room.afterCrash('dropAll', 'log');
      expect(bytes).toEqual(Buffer.concat([Buffer.alloc(600), Buffer.alloc(600, 2)]));
    }
  });

  it('of space lets a write fill the space there is, and fails the next until there is more', async () => {
    const room = diskRoom(1);
    const counts = await room.run(async (disk) => {
      const file = await disk.open('log', 'create');
      room.host.disk.setCapacity(100);
      const first = await file.writeAt([Buffer.alloc(60)], 0);
      const second = await file.writeAt([Buffer.alloc(60)], 60);
      expect(await failureOf(() => file.writeAt([Buffer.alloc(60)], 100))).toBe('noSpace');
      expect(await file.writeAt([Buffer.alloc(50)], 0)).toBe(50);
      room.host.disk.setCapacity(undefined);
      return [first, second, await file.writeAt([Buffer.alloc(60)], 100)];
    });
    expect(counts).toEqual([60, 40, 60]);
    expect(room.world.ledger.total({ kind: 'disk-full', effect: 'operationFailed' })).toBe(1);
  });

  it('of time makes operations slow and fails none', async () => {
    const room = diskRoom(1);
    room.host.disk.inject({
      kind: 'slow-disk',
      operations: ['sync'],
      delay: constantLatency(2_000_000),
      count: 1,
    });
    await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.from('x')]);
      const startedUs = room.world.nowUs;
      await file.sync();
      expect(room.world.nowUs - startedUs).toBeGreaterThan(2_000_000);
      await file.sync();
      expect(room.world.nowUs - startedUs).toBeLessThan(2_100_000);
    });
    expect(room.world.ledger.total({ kind: 'slow-disk', place: 'n1:log', effect: 'operationDelayed' })).toBe(
      1,
    );
  });

  it('of a bit is read, counted by the read, and gone when it is written over', async () => {
    const room = diskRoom(1);
    await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.alloc(1000)]);
      expect(room.host.disk.rot('log', 700, 3)).toBe(true);
      expect(room.host.disk.rot('log', 1000, 3)).toBe(false);
      const into = Buffer.alloc(500);
      await file.readAt(into, 0);
      expect(room.world.ledger.total({ kind: 'bit-rot', effect: 'rottenRead' })).toBe(0);
      await file.readAt(into, 500);
      expect(into[200]).toBe(8);
      await writeFully(file, [Buffer.alloc(1)], 700);
      await file.readAt(into, 500);
    });
    expect(room.world.ledger.total({ kind: 'bit-rot', effect: 'rottenRead' })).toBe(1);
  });

  it('of aim writes elsewhere in the file', async () => {
    const room = diskRoom(1);
    const bytes = await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.alloc(51_200, 1)]);
      room.host.disk.inject({ kind: 'misdirected-io', count: 1 });
      await file.writeAt([Buffer.alloc(10, 2)], 5);
      return (await readFile(disk, 'log', 99_999)) ?? Buffer.alloc(0);
    });
    expect(bytes.filter((byte) => byte === 2)).toHaveLength(10);
    expect(bytes.indexOf(2)).not.toBe(5);
    expect(room.world.ledger.total({ kind: 'misdirected-io', effect: 'writeMisdirected' })).toBe(1);
  });

  it('of aim shows watchers the file as its writer believes it to be', async () => {
    const room = diskRoom(1);
    const seen: Buffer[] = [];
    room.host.disk.watch({
      wrote: (_host, _life, _path, _content, _from, whole) => void seen.push(Buffer.from(whole)),
    });
    const bytes = await room.run(async (disk) => {
      const file = await appended(disk, 'log', [Buffer.from('head')]);
      room.host.disk.inject({ kind: 'misdirected-io', count: 1 });
      await file.writeAt([Buffer.alloc(600, 1)], 512);
      await file.writeAt([Buffer.from('tail')], 1112);
      await file.truncate(1114);
      await file.writeAt([Buffer.from('!')], 1114);
      return (await readFile(disk, 'log', 99_999)) ?? Buffer.alloc(0);
    });
    const believed = Buffer.concat([
      Buffer.from('head'),
      Buffer.alloc(508),
      Buffer.alloc(600, 1),
      Buffer.from('tail'),
    ]);
    expect(seen[2]).toEqual(believed);
    expect(seen[3]).toEqual(Buffer.concat([believed.subarray(0, 1114), Buffer.from('!')]));
    expect(bytes.subarray(0, 4)).toEqual(Buffer.alloc(4, 1));
  });

  it('between two lives wipes, rolls back, swaps or cuts', async () => {
    const room = diskRoom(1);
    await room.run(async (disk) => {
      await disk.makeDirectory('d');
      await appended(disk, 'd/log', [Buffer.from('young')]);
    });
    const young = room.host.disk.copy();
    await room.run(async (disk) => void (await appended(disk, 'd/log2', [Buffer.from('old')])));
    room.host.crash('keepAll');
    room.host.disk.mount('disk-rollback', young);
    expect(room.host.disk.copy()).toEqual(young);
    expect(room.host.disk.cutShort('d/log', 2)).toBe(true);
    room.host.boot();
    expect((await room.afterCrash('dropAll', 'd/log')).toString()).toBe('yo');
    room.host.crash('keepAll');
    room.host.disk.wipe();
    room.host.boot();
    expect(await room.run((disk) => disk.list(''))).toEqual([]);
    expect(room.host.disk.durableFiles().size).toBe(0);
  });
});

/** A crash finds one of the two files, so the durable state is never without one. */
it('a file that is being replaced is the old one until its name is durable', async () => {
  const room = diskRoom(1);
  const held = (): (string | undefined)[] =>
    ['a', 'a.new'].map((path) => room.host.disk.durableFiles().get(path)?.toString());
  await room.run(async (disk) => {
    for (const [path, content] of [
      ['a', 'old'],
      ['a.new', 'new'],
    ] as const) {
      await (await appended(disk, path, [Buffer.from(content)])).sync();
    }
    await disk.syncDirectory('');
    expect(held()).toEqual(['old', 'new']);
    await disk.rename('a.new', 'a');
    expect(held()).toEqual(['old', undefined]);
    await disk.syncDirectory('');
    expect(held()).toEqual(['new', undefined]);
  });
});

/** Two overlapping writes under way at once break the port's contract. */
it('writes that overlap while under way are a failure of the caller', async () => {
  const room = diskRoom(1);
  await room.run(async (disk) => {
    const file = await disk.open('log', 'create');
    await Promise.all([file.writeAt([Buffer.alloc(10)], 0), file.writeAt([Buffer.alloc(10)], 10)]);
    expect(room.world.failures).toEqual([]);
    await Promise.all([file.writeAt([Buffer.alloc(10)], 0), file.writeAt([Buffer.alloc(10)], 9)]);
  });
  expect(room.world.failures).toMatchObject([{ host: 'n1', what: 'disk' }]);
});

interface DiskRoom {
  readonly world: World;
  readonly host: Host;
  /** Runs a conversation with the disk of the host's current incarnation. */
  run<T>(conversation: (disk: Disk) => Promise<T>): Promise<T>;
  /** Crashes, boots, and reads a whole file; empty if there is none. */
  afterCrash(survival: Survival, path: string): Promise<Buffer>;
}

function diskRoom(seed: number): DiskRoom {
  const world = new World({ seed, tuning: { disk: { shortOneIn: 0 } } });
  const host = world.addHost('n1');
  host.boot();
  const run = async <T>(conversation: (disk: Disk) => Promise<T>): Promise<T> => {
    const outcome = conversation(host.io.disk);
    await world.runUntil(outcome, 60_000_000);
    return outcome;
  };
  const afterCrash = async (survival: Survival, path: string): Promise<Buffer> => {
    host.crash(survival);
    host.boot();
    return run(async (disk) => (await readFile(disk, path, 1e6)) ?? Buffer.alloc(0));
  };
  return { world, host, run, afterCrash };
}

function resized(bytes: Buffer, length: number): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(Math.max(0, length - bytes.length))]).subarray(0, length);
}

async function appended(disk: Disk, path: string, chunks: readonly Uint8Array[]): Promise<DiskFile> {
  const file = await disk.open(path, 'readWrite');
  await writeFully(file, chunks, 0);
  return file;
}

async function failureOf(call: (() => Promise<unknown>) | undefined): Promise<string> {
  if (call === undefined) return 'nothing was called';
  return call().then(
    () => 'none',
    (error: unknown) => (error instanceof DiskError ? error.failure : String(error)),
  );
}
