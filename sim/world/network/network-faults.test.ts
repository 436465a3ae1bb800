/** What faults do to connections: which side learns what and when, and what the fault log records. */
import { describe, expect, it } from 'vitest';
import { streamBytes, streamMismatch } from '../../../engine/io/connection-recorder.fixture.ts';
import { ConnectError } from '../../../engine/io/network.ts';
import { constantLatency } from '../core/latency.ts';
import type { FaultId, FaultLogQuery } from '../core/fault-log.ts';
import { talkers } from './connected-pair.fixture.ts';
import type { World } from '../world.ts';

const minute = 60_000;

describe('a partition', () => {
  it('stalls bytes in silence, and they arrive once each after it heals', async () => {
    const { world, a, b, pass } = await talkers('stall');
    const partition = world.network.partition(['a'], ['b']);
    a.connection.write(streamBytes(0, 100));
    await pass(5);
    a.connection.write(streamBytes(100, 100));
    b.connection.write(streamBytes(0, 50));
    await pass(5000);
    expect([a.heard.story, b.heard.story]).toEqual([[], []]);
    partition.lift();
    await pass(1500);
    expect([b.heard.bytesReceived, a.heard.bytesReceived]).toEqual([200, 50]);
    expect(streamMismatch(0, b.heard.received())).toBe(undefined);
    expect(world.ledger.total({ kind: 'network-partition', place: 'a>b', effect: 'deliveryStalled' })).toBe(
      2,
    );
    expect(world.ledger.total({ kind: 'network-partition', place: 'b>a', effect: 'deliveryStalled' })).toBe(
      1,
    );
    expect(world.ledger.total({ kind: 'network-partition', effect: 'injected' })).toBe(2);
  });

  it('on an idle link is injected and never seen', async () => {
    const { world, a, b, pass } = await talkers('idle');
    const partition = world.network.partition(['a'], ['b']);
    await pass(2 * minute);
    partition.lift();
    await pass(minute);
    expect([a.heard.story, b.heard.story]).toEqual([[], []]);
    expect(effects(world, 'network-partition')).toEqual({ injected: 2 });
  });

  it('that lasts makes a sender give up within its limit; the other side learns of it only when it sends', async () => {
    const { world, a, b, pass } = await talkers('give up');
    const partition = world.network.partition(['a'], ['b']);
    a.connection.write(Buffer.from('x'));
    await pass(14_000);
    expect(a.heard.closed).toBe(undefined);
    await pass(47_000);
    expect([a.heard.story, b.heard.story]).toEqual([['timedOut'], []]);
    partition.lift();
    await pass(minute);
    expect(b.heard.story).toEqual([]);
    b.connection.write(Buffer.from('still there?'));
    await pass(5);
    expect(b.heard.story).toEqual(['reset']);
    expect(world.ledger.total({ effect: 'connectionTimedOut' })).toBe(1);
    expect(world.ledger.total({ kind: 'network-partition', effect: 'connectionReset' })).toBe(1);
  });

  it('one way lets the other way pass, but without acknowledgement the window shuts', async () => {
    const { world, a, b, pass } = await talkers('one way');
    const partition = world.network.partitionOneWay(['b'], ['a']);
    a.connection.write(streamBytes(0, 25_000));
    await pass(100);
    expect(b.heard.bytesReceived).toBe(10_000);
    expect(a.connection.pendingBytes).toBe(15_000);
    partition.lift();
    await pass(2000);
    expect(b.heard.bytesReceived).toBe(25_000);
    expect(streamMismatch(0, b.heard.received())).toBe(undefined);
    expect(effects(world, 'one-way-partition')).toEqual({ injected: 1, acknowledgementStalled: 1 });
  });

  it('heals by itself when another one over it is lifted', async () => {
    const { world, a, b, pass } = await talkers('overlap');
    const first = world.network.partition(['a'], ['b']);
    const second = world.network.partition(['a'], ['b']);
    a.connection.write(Buffer.from('x'));
    first.lift();
    first.lift();
    await pass(3000);
    expect(b.heard.bytesReceived).toBe(0);
    second.lift();
    await pass(3000);
    expect(b.heard.bytesReceived).toBe(1);
  });

  it('keeps an attempt to connect waiting, and lets it through when it heals in time', async () => {
    const { world, a } = await talkers('dial');
    const partition = world.network.partition(['a'], ['b']);
    const patient = a.io.network.connect('b:1', 10_000_000);
    const hasty = a.io.network.connect('b:1', 500_000).catch((error: unknown) => error);
    world.after(2_000_000, 'heal', () => partition.lift());
    await world.runUntil(patient, 20_000_000);
    expect((await patient).remote).toBe('b:1');
    expect(await hasty).toMatchObject({ failure: 'timedOut' });
    expect(world.ledger.total({ kind: 'network-partition', place: 'a>b', effect: 'connectTimedOut' })).toBe(
      1,
    );
  });
});

describe('a clog', () => {
  it('loses nothing, gives nothing up, and all flows in order when it is lifted', async () => {
    const { world, a, b, pass } = await talkers('clog');
    const clog = world.network.clog(['a'], ['b']);
    for (let at = 0; at < 20_000; at += 1000) {
      a.connection.write(streamBytes(at, 1000));
      await pass(1);
    }
    expect(a.connection.pendingBytes).toBe(10_000);
    await pass(10 * minute);
    expect([a.heard.story, b.heard.story]).toEqual([[], []]);
    clog.lift();
    await pass(10);
    expect(b.heard.bytesReceived).toBe(20_000);
    expect(streamMismatch(0, b.heard.received())).toBe(undefined);
    expect(effects(world, 'network-clog')).toEqual({ injected: 1, deliveryStalled: 10 });
  });
});

describe('a slow link', () => {
  it('delays what is sent while it lasts, in order, and counts it', async () => {
    const { world, a, b, pass } = await talkers('slow');
    const slow = world.network.slow(['a'], ['b'], constantLatency(50_000));
    a.connection.write(Buffer.from('1'));
    await pass(20);
    slow.lift();
    a.connection.write(Buffer.from('2'));
    await pass(20);
    expect(b.heard.bytesReceived).toBe(0);
    await pass(20);
    expect(b.heard.received().toString()).toBe('12');
    expect(effects(world, 'network-delay')).toEqual({ injected: 1, deliveryDelayed: 1 });
  });
});

describe('a reset', () => {
  it('is told to both sides, and what was under way is lost', async () => {
    const { world, a, b, pass } = await talkers('both');
    a.connection.write(Buffer.from('lost'));
    expect(world.network.reset('b', 'a')).toBe(1);
    await pass(5);
    expect([a.heard.story, b.heard.story]).toEqual([['reset'], ['reset']]);
    expect(effects(world, 'connection-reset')).toEqual({ injected: 1, connectionReset: 2 });
    expect(world.network.reset('b', 'a')).toBe(0);
  });

  it('of one side leaves the other half-open until it sends', async () => {
    const { world, a, b, pass } = await talkers('one side');
    world.network.reset('a', 'b', 'left');
    await pass(minute);
    expect([a.heard.story, b.heard.story]).toEqual([['reset'], []]);
    b.connection.write(Buffer.from('x'));
    await pass(5);
    expect(b.heard.story).toEqual(['reset']);
    expect(world.ledger.total({ kind: 'connection-reset', effect: 'connectionReset' })).toBe(2);
  });

  it('strikes at any byte: what lies before it arrives, nothing after', async () => {
    for (const bytes of [0, 1, 99, 100, 101, 150, 299]) {
      const { world, a, b, pass } = await talkers(`byte ${bytes}`);
      expect(world.network.resetAfter('a', 'b', bytes)).toBe(1);
      for (let at = 0; at < 300; at += 100) {
        a.connection.write(streamBytes(at, 100));
        await pass(1);
      }
      expect(b.heard.bytesReceived).toBe(bytes);
      expect(streamMismatch(0, b.heard.received())).toBe(undefined);
      expect([a.heard.closed, b.heard.closed]).toEqual(['reset', 'reset']);
    }
  });
});

describe('deliveries', () => {
  it('join what one event writes, and split at any byte when told to', async () => {
    const joined = await talkers('joined');
    for (let at = 0; at < 50; at++) joined.a.connection.write(streamBytes(at * 10, 10));
    let chunks = 0;
    joined.b.heard.onChunk = () => (chunks += 1);
    await joined.pass(5);
    expect([joined.b.heard.bytesReceived, chunks]).toEqual([500, 1]);

    const split = await talkers('split', { network: { splitOneIn: 1 } });
    const sizes: number[] = [];
    split.b.heard.onChunk = ({ length }) => sizes.push(length);
    split.a.connection.write(streamBytes(0, 2000));
    await split.pass(5000);
    expect(streamMismatch(0, split.b.heard.received())).toBe(undefined);
    expect(split.b.heard.bytesReceived).toBe(2000);
    expect(sizes.length).toBeGreaterThan(5);
    const inLedger = split.world.ledger.total({
      kind: 'stream-fragmentation',
      place: 'a>b',
      effect: 'deliverySplit',
    });
    expect(inLedger).toBeGreaterThanOrEqual(sizes.length - 1);
  });
});

describe('addresses', () => {
  it('lead to hosts by name and by number, and nowhere otherwise', async () => {
    const { world, a, b } = await talkers('addresses');
    const failure = async (address: string): Promise<unknown> => {
      const dial = a.io.network.connect(address, 1_000_000).then(
        (connection) => connection.remote,
        (error: unknown) => (error instanceof ConnectError ? error.failure : error),
      );
      await world.runUntil(dial, 2_000_000);
      return dial;
    };
    expect(await failure('10.0.0.2:1')).toBe('10.0.0.2:1');
    expect(await failure('localhost:1')).toBe('refused');
    expect(await failure('nobody:1')).toBe('unreachable');
    expect(await failure('b')).toBe('unreachable');
    expect(b.heard.closed).toBe(undefined);
  });
});

function effects(world: World, kind: FaultId): Record<string, number> {
  const query: FaultLogQuery = { kind };
  const names = world.ledger
    .lines()
    .filter((line) => line.kind === kind)
    .map(({ effect }) => effect);
  return Object.fromEntries(
    [...new Set(names)].map((effect) => [effect, world.ledger.total({ ...query, effect })]),
  );
}
