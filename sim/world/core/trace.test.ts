import { describe, expect, it } from 'vitest';
import { Digest } from './digest.ts';
import { FaultLog } from './fault-log.ts';
import type { TraceEvent } from './trace.ts';
import { World } from '../world.ts';

describe('the trace', () => {
  it('tells listeners of one name, or of all, what happened where and when', async () => {
    const world = new World({ seed: 1 });
    const io = world.addHost('n1').boot();
    const named: TraceEvent[] = [];
    const all: string[] = [];
    const listening = world.trace.on('xa.branch.prepared', (event) => void named.push(event));
    world.trace.on('*', ({ name }) => void all.push(name));
    io.clock.after(500, () =>
      io.log.event('info', 'xa.branch.prepared', { xid: 'x1', keys: 2, first: true }),
    );
    io.clock.after(600, () => listening.cancel());
    io.clock.after(700, () => io.log.event('info', 'xa.branch.prepared'));
    await world.run({ untilUs: 1000 });
    const fields = { xid: 'x1', keys: 2, first: true };
    expect(named).toEqual([{ atUs: 500, host: 'n1', name: 'xa.branch.prepared', level: 'info', fields }]);
    expect(all.filter((name) => name === 'clock.timer.fired')).toHaveLength(3);
    expect(all.filter((name) => name === 'xa.branch.prepared')).toHaveLength(2);
  });

  it('leaves out events below the level, and reports the level as disabled', () => {
    const world = new World({ seed: 1, logLevel: 'info' });
    const { log } = world.addHost('n1').boot();
    const before = world.digest();
    log.event('debug', 'too.small');
    expect([log.enabled('debug'), log.enabled('info'), world.digest() === before]).toEqual([
      false,
      true,
      true,
    ]);
    log.event('info', 'large.enough');
    expect(world.digest()).not.toBe(before);
  });

  it('has another digest for every difference: host, time, name, field, value, type, order', () => {
    const stories: readonly ((world: World) => void)[] = [
      (world) => world.trace.logged(0, 'info', 'a', { x: 1 }),
      (world) => world.trace.logged(1, 'info', 'a', { x: 1 }),
      (world) => world.trace.logged(0, 'info', 'b', { x: 1 }),
      (world) => world.trace.logged(0, 'info', 'a', { y: 1 }),
      (world) => world.trace.logged(0, 'info', 'a', { x: 2 }),
      (world) => world.trace.logged(0, 'info', 'a', { x: '1' }),
      (world) => world.trace.logged(0, 'info', 'a', { x: true }),
      (world) => world.trace.logged(0, 'info', 'a', { x: 1, y: 2 }),
      (world) => world.trace.logged(0, 'info', 'a', { y: 2, x: 1 }),
      (world) => world.trace.note('a', { x: 1 }),
    ];
    const digests = stories.map((tell) => {
      const world = new World({ seed: 1 });
      for (const name of ['n1', 'n2']) world.addHost(name);
      tell(world);
      return world.digest();
    });
    expect(new Set(digests).size).toBe(stories.length);
  });
});

describe('a digest', () => {
  it('covers every byte of every record, however long, and can be read in between', () => {
    const digestOf = (sizes: readonly number[], changed: number, read: boolean): string => {
      const digest = new Digest();
      for (const [index, size] of sizes.entries()) {
        const bytes = Buffer.alloc(size, 1);
        if (index === changed && size > 0) bytes[size - 1] = 2;
        digest.add(index, 7, 1, 2, bytes);
        if (read) digest.hex();
      }
      return digest.hex();
    };
    const sizes = [0, 1, 7, 8, 9, 65_000, 600, 65_536, 200_000, 3];
    const plain = digestOf(sizes, -1, false);
    expect(plain).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf(sizes, -1, true)).toBe(plain);
    for (let changed = 1; changed < sizes.length; changed++) {
      expect(digestOf(sizes, changed, false)).not.toBe(plain);
    }
  });
});

describe('the ledger', () => {
  it('sums what a query names', () => {
    const ledger = new FaultLog();
    ledger.enter('network-partition', 'n1>n2', 'injected');
    ledger.enter('network-partition', 'n1>n2', 'deliveryStalled', 3);
    ledger.enter('network-partition', 'n2>n1', 'deliveryStalled');
    ledger.enter('one-way-partition', 'n1>n2', 'deliveryStalled', 10);
    expect(ledger.total({ kind: 'network-partition', effect: 'deliveryStalled' })).toBe(4);
    expect(ledger.total({ place: 'n1>n2', effect: 'deliveryStalled' })).toBe(13);
    expect(ledger.total({})).toBe(15);
    expect(ledger.lines()).toHaveLength(4);
    expect(ledger.total({ kind: 'network-delay' })).toBe(0);
  });
});
