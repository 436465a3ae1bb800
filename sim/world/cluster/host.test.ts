/**
 * Incarnations: their silence after a crash, what others learn of it, pauses, and what an orderly stop leaves behind.
 */
import { describe, expect, it } from 'vitest';
import { sleep } from '../../../engine/io/clock.ts';
import { ConnectionRecorder } from '../../../engine/io/connection-recorder.fixture.ts';
import { talkers } from '../network/connected-pair.fixture.ts';
import { World } from '../world.ts';

describe('a crash', () => {
  it('is silence: no timer, no promise, no handler, no finally of that life ever runs again', async () => {
    const { world, a, b, pass } = await talkers('silence');
    const told: string[] = [];
    a.io.clock.after(10_000, () => told.push('timer'));
    a.io.spawn('task', async () => {
      try {
        await sleep(a.io.clock, 10_000);
        told.push('slept');
      } catch {
        told.push('caught');
      } finally {
        told.push('finally');
      }
    });
    b.connection.write(Buffer.from('x'));
    world.mustGetHost('a').crash('dropAll');
    await pass(1000);
    expect([told, a.heard.story]).toEqual([[], []]);
    expect(world.failures).toEqual([]);
  });

  it('in the middle of an event turns the rest of it into zombie calls without effect', async () => {
    const { world, a, b, pass } = await talkers('zombie');
    const host = world.mustGetHost('a');
    const told: string[] = [];
    world.trace.on('step.reached', () => host.crash('keepAll'));
    a.io.spawn('step', async () => {
      const file = await a.io.disk.open('file', 'create');
      a.io.log.event('info', 'step.reached');
      told.push('rest of the turn');
      a.connection.write(Buffer.from('from the grave'));
      a.io.clock.after(1, () => told.push('timer'));
      a.io.log.event('info', 'zombie.spoke');
      a.io.spawn('zombie', async () => void told.push('task'));
      world.trace.on('zombie.spoke', () => told.push('heard'));
      try {
        await file.writeAt([Buffer.from('x')], 0);
        told.push('written');
      } finally {
        told.push('finally');
      }
    });
    await pass(1000);
    expect(told).toEqual(['rest of the turn']);
    expect(b.heard.bytesReceived).toBe(0);
    expect(host.zombieCalls).toBeGreaterThanOrEqual(4);
    expect(host.boot().disk).toBeDefined();
    expect(host.disk.durableFiles().size).toBe(0);
  });

  it('leaves connections half-open: an idle peer hears nothing, one that sends is reset once the host is back', async () => {
    const { world, a, b, pass } = await talkers('half-open');
    world.mustGetHost('a').crash('dropAll');
    await pass(10_000);
    b.connection.write(Buffer.from('anybody?'));
    await pass(5000);
    expect(b.heard.story).toEqual([]);
    world.mustGetHost('a').boot();
    await pass(2000);
    expect([a.heard.story, b.heard.story]).toEqual([[], ['reset']]);
    expect(world.ledger.total({ kind: 'process-crash', place: 'b>a', effect: 'deliveryStalled' })).toBe(1);
    expect(world.ledger.total({ kind: 'process-crash', place: 'a>b', effect: 'connectionReset' })).toBe(1);
  });

  it('of the process alone is told to peers by the system that lives on, and refuses connections', async () => {
    const { world, a, b, pass } = await talkers('process');
    world.mustGetHost('b').crash('keepAll', 'reset');
    const dial = a.io.network.connect('b:1', 1_000_000).catch((error: unknown) => error);
    await pass(100);
    expect([a.heard.story, b.heard.story]).toEqual([['end'], []]);
    expect(await dial).toMatchObject({ failure: 'refused' });
    expect(world.ledger.total({ kind: 'process-crash', effect: 'connectRefused' })).toBe(1);
  });

  it('of the machine leaves attempts to connect unanswered', async () => {
    const { world, a, pass } = await talkers('off');
    world.mustGetHost('b').crash('dropAll', 'silent');
    const dial = a.io.network.connect('b:1', 1_000_000).catch((error: unknown) => error);
    await pass(2000);
    expect(await dial).toMatchObject({ failure: 'timedOut' });
  });

  it('ends one incarnation; the next has its own ports, streams and clock', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1');
    const first = host.boot();
    expect(() => host.boot()).toThrow('alive');
    const [drawn, readUs] = [first.random.u32(), first.clock.nowUs()];
    host.crash('dropAll');
    expect(host.alive).toBe(false);
    const second = host.boot();
    expect([host.lives, second.random.u32() === drawn, second.clock.nowUs() === readUs]).toEqual([
      2,
      false,
      false,
    ]);
    await world.run({ untilUs: 1000 });
  });
});

describe('a pause', () => {
  it('holds what would wake the process, in order, and its clock goes on', async () => {
    const { world, a, b, pass } = await talkers('pause');
    const host = world.mustGetHost('a');
    const told: string[] = [];
    const startedUs = a.io.clock.nowUs();
    for (const ms of [1, 2, 3, 500]) a.io.clock.after(ms * 1000, () => told.push(`${ms}`));
    host.pause();
    b.connection.write(Buffer.from('first'));
    await pass(100);
    b.connection.write(Buffer.from(', second'));
    await pass(100);
    expect([told, a.heard.bytesReceived]).toEqual([[], 0]);
    host.resume();
    await pass(10);
    expect(told).toEqual(['1', '2', '3']);
    expect(a.heard.received().toString()).toBe('first, second');
    expect(a.io.clock.nowUs() - startedUs).toBe(210_000);
    await pass(500);
    expect(told).toHaveLength(4);
  });

  it('holds requests to the process behind earlier events, and a crash forgets them', async () => {
    const { world, a, b, pass } = await talkers('asked');
    const host = world.mustGetHost('a');
    const told: string[] = [];
    host.ask(() => told.push('at once'));
    expect(told).toEqual(['at once']);
    host.pause();
    a.io.clock.after(1000, () => told.push('timer'));
    await pass(10);
    host.ask(() => told.push('asked'));
    a.io.clock.after(1000, () => told.push('later'));
    b.connection.write(Buffer.from('x'));
    await pass(10);
    expect(told).toHaveLength(1);
    host.resume();
    await pass(10);
    expect(told).toEqual(['at once', 'timer', 'asked', 'later']);
    host.pause();
    host.ask(() => expect.unreachable());
    host.crash('keepAll');
    await pass(10);
    expect(world.failures).toEqual([]);
  });

  it('keeps bytes in order when more arrive at the instant of its end', async () => {
    const { world, a, b, pass } = await talkers('instant');
    const host = world.mustGetHost('a');
    host.pause();
    for (let index = 0; index < 50; index++) {
      world.after(index * 100, 'write', () => void b.connection.write(Buffer.from([index])));
    }
    world.after(2500, 'resume', () => host.resume());
    await pass(100);
    expect([...a.heard.received()]).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('in which a listener closes: connections made meanwhile are reset, and the process never sees them', async () => {
    const { world, a, b, pass } = await talkers('listener gone');
    const host = world.mustGetHost('b');
    const listening = b.io.network.listen('b:2', () => expect.unreachable());
    await world.runUntil(listening, 1_000_000);
    const listener = await listening;
    const told: string[] = [];
    world.network.watch({
      opened: ({ side }) => told.push(`${side} opened`),
      wrote: () => undefined,
      heard: () => undefined,
      toldEnd: () => undefined,
      left: () => undefined,
      closed: ({ side }, reason) => told.push(`${side} closed: ${reason}`),
      listenerClosed: (name, life, port) => told.push(`${name}/${life} closed ${port}`),
      connectFailed: () => undefined,
    });
    host.pause();
    host.ask(() => b.io.spawn('close', () => listener.close()));
    const dial = a.io.network.connect('b:2', 1_000_000);
    await pass(10);
    ConnectionRecorder.start(await dial);
    expect(told).toEqual(['client opened']);
    host.resume();
    await pass(10);
    expect(told).toEqual(['client opened', 'b/1 closed 2', 'client closed: reset']);
  });

  it('can be ended by a crash', async () => {
    const { world, a, b, pass } = await talkers('pause and crash');
    const host = world.mustGetHost('a');
    host.pause();
    b.connection.write(Buffer.from('x'));
    a.io.clock.after(1, () => expect.unreachable());
    await pass(10);
    host.crash('keepAll', 'reset');
    host.boot();
    await pass(10);
    expect(a.heard.story).toEqual([]);
    expect(b.heard.story).toEqual(['reset']);
  });
});

describe('a stop', () => {
  it('of a process that released everything leaves nothing', async () => {
    const { world, a, b, pass } = await talkers('clean');
    a.connection.destroy();
    b.connection.destroy();
    await pass(10);
    expect(world.mustGetHost('a').stop()).toEqual(nothing);
    expect(world.mustGetHost('b').stop()).toEqual({ ...nothing, listeners: ['b:1'] });
  });

  it('names what it left behind', async () => {
    const { world, a, pass } = await talkers('leaks');
    a.io.clock.after(1_000_000, () => undefined);
    a.io.spawn('endless', () => sleep(a.io.clock, 1e9));
    a.io.spawn('hold', async () => {
      await a.io.disk.open('file', 'create');
      await a.io.disk.lock('lock');
    });
    await pass(10);
    expect(world.mustGetHost('a').stop()).toEqual({
      timers: 2,
      connections: ['a to b:1'],
      listeners: [],
      files: ['file'],
      locks: ['lock'],
      tasks: ['endless'],
    });
  });

  it('of a process that refused a connection without starting it leaves nothing', async () => {
    const world = new World({ seed: 1 });
    const [server, client] = ['server', 'client'].map((name) => world.addHost(name));
    server?.boot().spawn('refuse', async () => {
      await server.io.network.listen('server:1', (connection) => connection.destroy());
    });
    const dial = client?.boot().network.connect('server:1', 1_000_000);
    if (dial === undefined) return expect.unreachable();
    await world.runUntil(dial, 1_000_000);
    const heard = ConnectionRecorder.start(await dial);
    await world.run({ untilUs: 1_000_000 });
    expect(heard.ended).toBe(true);
    expect(server?.stop().connections).toEqual([]);
  });
});

describe('memory', () => {
  it('is what the model holds, and grows with it', async () => {
    const { world, a, pass } = await talkers('memory');
    const beforeBytes = a.io.residentBytes();
    a.connection.write(Buffer.alloc(500_000));
    for (let index = 0; index < 100; index++) a.io.clock.after(1e9, () => undefined);
    const heldBytes = a.io.residentBytes() - beforeBytes;
    expect(heldBytes).toBeGreaterThan(490_000);
    await pass(1000);
    expect(a.io.residentBytes() - beforeBytes).toBeLessThan(100_000);
    expect(world.failures).toEqual([]);
  });
});

const nothing = { timers: 0, connections: [], listeners: [], files: [], locks: [], tasks: [] };
