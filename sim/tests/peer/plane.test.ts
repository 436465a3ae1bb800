/** Tests the peer plane in a world of hosts that crash and a network that fails. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeId } from '../../../engine/base/ids.ts';
import type { RequestHandler } from '../../../engine/peer/inbound.ts';
import { defaultPeerLimits, defaultPeerTimeouts } from '../../../engine/peer/options.ts';
import type { PeerReply } from '../../../engine/peer/wire/messages.ts';
import type { Asked } from './plane-harness.ts';
import { echo, echoFrom, mergeOf, PlaneHarness, readOf, wanted } from './plane-harness.ts';

const second = 1_000_000;
/** After this time, in virtual microseconds, a dead peer has been noticed. */
const noticedUs = defaultPeerTimeouts.idleUs + 2 * defaultPeerTimeouts.pingUs;
const noLeaks = { timers: 0, connections: [], listeners: [], files: [], locks: [], tasks: [] };

async function linkedRoom(
  seed: string,
  changes: Parameters<PlaneHarness['startAll']>[0] = {},
  network: ConstructorParameters<typeof PlaneHarness>[2] = {},
): Promise<PlaneHarness> {
  const room = new PlaneHarness(seed, undefined, network);
  room.startAll(changes);
  expect(await room.until(() => room.allLinked(), 5 * second)).toBe(true);
  return room;
}

function codes(asked: Asked): readonly string[] {
  return asked.replies.map((reply) => (reply.kind === 'failed' ? reply.code : reply.kind));
}

function plain(replies: readonly PeerReply[]): unknown {
  return replies.map((reply) =>
    reply.kind === 'object' ? Buffer.from(reply.object ?? []).toString('latin1') : reply,
  );
}

describe('links', () => {
  test('come up both ways between all nodes', async () => {
    const room = await linkedRoom('up');
    for (const name of room.names) {
      const { counts, plane } = room.seat(name);
      expect([counts.of('peerAdmitted'), counts.of('peerEjected')]).toEqual([2, 0]);
      expect(plane.gauges()).toMatchObject({ outboundConnections: 2, inboundConnections: 2 });
    }
    expect(room.world.failures).toEqual([]);
  });

  test('come back after a peer has crashed and returned', async () => {
    const room = await linkedRoom('crash');
    room.world.mustGetHost('n2').crash('keepAll', 'reset');
    expect(await room.until(() => !room.linked('n1', 'n2'), second)).toBe(true);
    expect(room.read('n1', 'n2', 'k').outcome).toBe('closed');
    await room.pass(10 * second);
    room.start('n2');
    expect(await room.until(() => room.allLinked(), 5 * second)).toBe(true);
    const { counts } = room.seat('n1');
    expect([counts.of('peerEjected'), counts.of('peerAdmitted')]).toEqual([1, 3]);
    expect(counts.of('requestDropped.closed')).toBe(1);
    expect(room.world.failures).toEqual([]);
  });

  test('to a peer that died in silence are cut for want of an answer', async () => {
    const room = await linkedRoom('silence');
    room.world.mustGetHost('n2').crash('keepAll', 'silent');
    expect(room.linked('n1', 'n2')).toBe(true);
    expect(await room.until(() => !room.linked('n1', 'n2'), noticedUs)).toBe(true);
    const { counts, plane } = room.seat('n1');
    await room.pass(1000);
    expect(counts.of('linkClosed.timedOut')).toBe(1);
    expect(await room.until(() => plane.gauges().inboundConnections === 1, noticedUs)).toBe(true);
    expect(counts.of('inboundClosed.timedOut')).toBe(1);
    room.start('n2');
    expect(await room.until(() => room.allLinked(), 10 * second)).toBe(true);
  });

  test.each(['both ways', 'one way'])(
    'are cut by a partition (%s) and return when it heals',
    async (shape) => {
      const room = await linkedRoom(shape);
      const { network } = room.world;
      if (shape === 'both ways') network.partition(['n1'], ['n2', 'n3']);
      else network.partitionOneWay(['n1'], ['n2', 'n3']);
      const cut = (): boolean => !room.linked('n1', 'n2') && !room.linked('n2', 'n1');
      expect(await room.until(cut, noticedUs)).toBe(true);
      expect(room.linked('n2', 'n3') && room.linked('n3', 'n2')).toBe(true);
      await room.pass(20 * second);
      network.heal();
      expect(await room.until(() => room.allLinked(), 20 * second)).toBe(true);
      expect(room.world.failures).toEqual([]);
    },
  );

  test('that are idle stay up for as long as the peer lives', async () => {
    const room = await linkedRoom('idle');
    await room.pass(300 * second);
    for (const name of room.names) {
      const { counts } = room.seat(name);
      expect([counts.of('peerAdmitted'), counts.of('linkClosed')]).toEqual([2, 0]);
      expect([counts.of('requestSent'), counts.of('responseReceived')]).toEqual([0, 0]);
    }
  });

  test('are stopped without a trace', async () => {
    const room = await linkedRoom('stop');
    room.world.network.partition(['n1'], ['n2']);
    await room.pass(noticedUs + 100_000);
    for (const name of room.names) expect(await room.stop(name)).toEqual(noLeaks);
    expect(room.world.failures).toEqual([]);
  });
});

describe('requests', () => {
  test('are answered by the peer that was asked, each with its own answer, in whatever order it comes', async () => {
    const room = new PlaneHarness('order');
    const delays = room.world.random.fork('delays');
    for (const name of room.names) {
      room.start(name, {
        handle: (_from, request, reply) => {
          room.seat(name).io.clock.after(delays.below(20_000), () => reply(echo(name, request)));
        },
      });
    }
    await room.until(() => room.allLinked(), 5 * second);
    const asked = Array.from({ length: 300 }, (_, index) => {
      const to = index % 3 === 0 ? 'n2' : 'n3';
      return { to, key: `key ${index}`, asked: room.read('n1', to, `key ${index}`) };
    });
    await room.pass(second);
    for (const { to, key, asked: one } of asked) expect(plain(one.replies)).toEqual(plain([wanted(to, key)]));
    const { counts, plane } = room.seat('n1');
    expect([counts.of('requestSent'), counts.of('responseReceived')]).toEqual([300, 300]);
    expect(counts.of('responseMismatched')).toBe(0);
    expect(plane.freeMessages).toBe(plane.allocatedMessages);
  });

  test('of one turn leave together', async () => {
    const room = await linkedRoom('gather');
    const asked = Array.from({ length: 50 }, (_, index) => room.read('n1', 'n2', `${index}`));
    expect(room.seat('n1').plane.gauges().local).toMatchObject({ queued: 50, unanswered: 0 });
    await room.until(() => room.seat('n1').plane.gauges().local.queued === 0, second);
    expect(room.seat('n1').plane.gauges().local).toMatchObject({ queuedBytes: 0, unanswered: 50 });
    await room.pass(second);
    expect(asked.every((one) => one.replies.length === 1)).toBe(true);
    const idle = { queued: 0, queuedBytes: 0, unanswered: 0, unansweredBytes: 0 };
    expect(room.seat('n1').plane.gauges()).toMatchObject({ local: idle, remote: idle });
  });

  test('whose deadline passes fail with Timeout; the late answer is dropped and counted', async () => {
    const late: (() => void)[] = [];
    const room = await linkedRoom('late', {
      n2: { handle: (_from, request, reply) => late.push(() => reply(echo('n2', request))) },
    });
    const asked = room.read('n1', 'n2', 'k', 200_000);
    await room.pass(195_000);
    expect(asked.replies).toEqual([]);
    await room.pass(50_000);
    expect(codes(asked)).toEqual(['Timeout']);
    room.seat('n2').io.clock.after(0, () => late[0]?.());
    await room.pass(second);
    expect(codes(asked)).toEqual(['Timeout']);
    const { counts } = room.seat('n1');
    expect([counts.of('requestTimedOut.sent'), counts.of('responseMismatched')]).toEqual([1, 1]);
    expect(room.linked('n1', 'n2')).toBe(true);
  });

  test('under way on a connection that is reset fail with PeerGone', async () => {
    const room = await linkedRoom('reset', { n2: { handle: () => undefined } });
    const asked = [1, 2, 3].map((index) => room.read('n1', 'n2', `${index}`, 60 * second));
    await room.pass(100_000);
    room.world.network.reset('n1', 'n2');
    await room.pass(100_000);
    expect(asked.flatMap(codes)).toEqual(['PeerGone', 'PeerGone', 'PeerGone']);
    expect(room.seat('n1').counts.of('linkClosed.error')).toBe(1);
    expect(await room.until(() => room.allLinked(), 5 * second)).toBe(true);
    expect(room.seat('n1').plane.freeMessages).toBe(room.seat('n1').plane.allocatedMessages);
  });

  test('beyond the outbox are refused as full while the peer does not read, by count and by bytes', async () => {
    const limits = { ...defaultPeerLimits, outbox: { countMax: 40, bytesMax: 400_000 } };
    const room = await linkedRoom('full', { n1: { options: { limits } } });
    room.world.network.clog(['n1'], ['n2']);
    const outcomes: string[] = [];
    for (let index = 0; index < 200; index++) {
      outcomes.push(room.ask('n1', 'n2', mergeOf(`${index}`, Buffer.alloc(100_000)), 60 * second).outcome);
      await room.pass(1000);
      expect(room.seat('n1').plane.gauges().local.queuedBytes).toBeLessThanOrEqual(limits.outbox.bytesMax);
    }
    expect(outcomes).toContain('full');
    expect(room.seat('n1').counts.of('requestDropped.full')).toBe(
      outcomes.filter((one) => one === 'full').length,
    );
    expect(room.read('n1', 'n3', 'k').outcome).toBe('ok');
    const burst = Array.from({ length: 60 }, (_, index) => room.read('n1', 'n3', `${index}`).outcome);
    expect(burst.filter((one) => one === 'ok')).toHaveLength(39);
  });

  test('that take longer to send than a peer may be silent arrive, and the link stays', async () => {
    const room = await linkedRoom('slow', {}, { bytesPerUs: 0.25 });
    const asked = room.ask('n1', 'n2', mergeOf('k', Buffer.alloc(5_000_000)), 60 * second);
    await room.pass(30 * second);
    expect(codes(asked)).toEqual(['written']);
    expect([room.seat('n1').counts.of('linkClosed'), room.seat('n2').counts.of('inboundClosed')]).toEqual([
      0, 0,
    ]);
  });

  test('that wait behind others fail once the peer takes no bytes', async () => {
    const room = await linkedRoom('stuck', {}, { bytesPerUs: 0.25 });
    const asked = room.ask('n1', 'n2', mergeOf('k', Buffer.alloc(5_000_000)), 60 * second);
    await room.pass(8 * second);
    room.world.network.clog(['n1'], ['n2']);
    await room.pass(noticedUs + defaultPeerTimeouts.idleUs);
    expect(codes(asked)).toEqual(['PeerGone']);
  });

  test('that time out in the outbox are never sent', async () => {
    const room = await linkedRoom('unsent');
    room.world.network.clog(['n1'], ['n2']);
    const filling = Array.from({ length: 30 }, () =>
      room.ask('n1', 'n2', mergeOf('k', Buffer.alloc(400_000)), second),
    );
    await room.pass(2 * second);
    expect(filling.flatMap(codes).every((code) => code === 'Timeout')).toBe(true);
    const { counts, plane } = room.seat('n1');
    expect(counts.of('requestTimedOut.unsent')).toBeGreaterThan(0);
    room.world.network.heal();
    await room.pass(5 * second);
    expect(counts.of('requestSent')).toBe(counts.of('requestTimedOut.sent'));
    expect(plane.freeMessages).toBe(plane.allocatedMessages);
  });

  test('too large for a frame fail with TooLarge, and the link stays', async () => {
    const limits = { ...defaultPeerLimits, frameBytesMax: 10_000 };
    const room = await linkedRoom('large', { n1: { options: { limits } } });
    const asked = room.ask('n1', 'n2', mergeOf('k', Buffer.alloc(10_000)));
    const small = room.read('n1', 'n2', 'k');
    await room.pass(second);
    expect([asked.outcome, ...codes(asked)]).toEqual(['ok', 'TooLarge']);
    expect(codes(small)).toEqual(['object']);
    expect(room.linked('n1', 'n2')).toBe(true);
  });

  test('that the answer does not fit to fail without a promise, and the link stays', async () => {
    const limits = { ...defaultPeerLimits, frameBytesMax: 10_000 };
    const huge: PeerReply = { kind: 'object', object: Buffer.alloc(20_000) };
    const room = await linkedRoom('wide', {
      n2: { options: { limits }, handle: (_f, _r, reply) => reply(huge) },
    });
    const asked = room.read('n1', 'n2', 'k');
    await room.pass(second);
    expect(codes(asked)).toEqual(['Internal']);
    expect(room.linked('n1', 'n2')).toBe(true);
  });

  test('to an unknown peer, or from a plane that has stopped, are closed', async () => {
    const room = await linkedRoom('nobody');
    expect(room.read('n1', 'n9', 'k').outcome).toBe('closed');
    await room.stop('n1');
    expect(room.read('n1', 'n2', 'k').outcome).toBe('closed');
  });

  test('that a stop finds under way fail as what they are: not sent, or perhaps done', async () => {
    const room = await linkedRoom('stopping', { n2: { handle: () => undefined } });
    const sent = room.read('n1', 'n2', 'k', 60 * second);
    await room.pass(100_000);
    const unsent = room.read('n1', 'n2', 'k', 60 * second);
    const leaks = await room.stop('n1');
    expect([codes(sent), codes(unsent)]).toEqual([['PeerGone'], ['ShuttingDown']]);
    expect(leaks).toEqual(noLeaks);
  });

  test('are answered exactly once or refused on the spot, whatever happens to network and hosts', async () => {
    const trouble = fc.record({
      kind: fc.constantFrom('partition', 'oneWay', 'clog', 'reset', 'crash', 'pause', 'none'),
      node: fc.constantFrom('n2', 'n3'),
      forMs: fc.integer({ min: 1, max: 8000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(trouble, { minLength: 1, maxLength: 6 }),
        async (seed, troubles) => {
          const room = new PlaneHarness(`storm ${seed}`);
          room.startAll();
          await room.until(() => room.allLinked(), 5 * second);
          const asked: { readonly to: string; readonly key: string; readonly one: Asked }[] = [];
          for (const { kind, node, forMs } of troubles) {
            const undo = makeTrouble(room, kind, node);
            for (let turn = 0; turn < 10; turn++) {
              for (const to of ['n2', 'n3']) {
                const key = `key ${asked.length}`;
                asked.push({ to, key, one: room.read('n1', to, key, 700_000) });
              }
              await room.pass(forMs * 100);
            }
            undo();
          }
          await room.pass(30 * second);
          for (const { to, key, one } of asked) {
            expect(one.replies).toHaveLength(one.outcome === 'ok' ? 1 : 0);
            const objects = one.replies.filter((reply) => reply.kind === 'object');
            if (objects.length > 0) expect(plain(objects)).toEqual(plain([wanted(to, key)]));
          }
          expect(room.allLinked()).toBe(true);
          const { counts, plane } = room.seat('n1');
          expect(plane.freeMessages).toBe(plane.allocatedMessages);
          expect(counts.of('linkOpened')).toBe(counts.of('linkClosed') + 2);
          expect(counts.of('frameRejected')).toBe(0);
          expect(room.world.failures).toEqual([]);
          for (const name of room.names) expect(await room.stop(name)).toEqual(noLeaks);
        },
      ),
      { numRuns: 25 },
    );
  });
});

/** Starts a fault at `node`; returns the function that ends it. */
function makeTrouble(room: PlaneHarness, kind: string, node: string): () => void {
  const { network } = room.world;
  const host = room.world.mustGetHost(node);
  switch (kind) {
    case 'partition':
      return lifting(network.partition(['n1'], [node]));
    case 'oneWay':
      return lifting(network.partitionOneWay([node], ['n1']));
    case 'clog':
      return lifting(network.clog(['n1'], [node]));
    case 'reset':
      network.reset('n1', node);
      return () => undefined;
    case 'crash':
      host.crash('dropAll', 'silent');
      return () => void room.start(node);
    case 'pause':
      host.pause();
      return () => host.resume();
    default:
      return () => undefined;
  }
}

function lifting(lasting: { lift(): void }): () => void {
  return () => lasting.lift();
}

describe('a node that is asked', () => {
  test('answers Overloaded beyond its bound and nothing is lost', async () => {
    const held: (() => void)[] = [];
    const limits = { ...defaultPeerLimits, inboundRequestCountMax: 4 };
    const room = await linkedRoom('overload', {
      n2: {
        options: { limits },
        handle: (_from, request, reply) => held.push(() => reply(echo('n2', request))),
      },
    });
    const asked = Array.from({ length: 10 }, (_, index) => room.read('n1', 'n2', `${index}`, 60 * second));
    await room.pass(second);
    expect(room.seat('n2').plane.gauges()).toMatchObject({ inboundRequests: 4, inboundAnswers: 0 });
    expect(asked.map((one) => codes(one)[0] ?? 'none')).toEqual([
      ...Array<string>(4).fill('none'),
      ...Array<string>(6).fill('Overloaded'),
    ]);
    room.seat('n2').io.clock.after(0, () => held.forEach((answer) => answer()));
    await room.pass(second);
    expect(asked.slice(0, 4).flatMap(codes)).toEqual(Array<string>(4).fill('object'));
    expect(room.seat('n2').counts.of('inboundOverloaded')).toBe(6);
    expect(room.seat('n2').plane.gauges()).toMatchObject({ inboundRequests: 0, inboundRequestBytes: 0 });
  });

  test('sends one answer to a request, and counts the second that its handler gives', async () => {
    const room = await linkedRoom('double', {
      n2: {
        handle: (_from, request, reply) => {
          reply(echo('n2', request));
          reply({ kind: 'failed', code: 'Internal', detail: 'again' });
        },
      },
    });
    const asked = room.read('n1', 'n2', 'k');
    await room.pass(second);
    expect(codes(asked)).toEqual(['object']);
    expect(room.seat('n2').counts.of('answerDoubled')).toBe(1);
    expect(room.seat('n1').counts.of('responseMismatched')).toBe(0);
  });

  test('answers pings without asking its handler', async () => {
    const room = await linkedRoom('ping', { n2: { handle: () => undefined } });
    const asked = room.ask('n1', 'n2', { kind: 'ping' });
    await room.pass(second);
    expect(codes(asked)).toEqual(['pong']);
  });

  test('stops reading a peer that does not read its answers, instead of hoarding them', async () => {
    const object = Buffer.alloc(100_000);
    const limits = { ...defaultPeerLimits, answers: { countMax: 20_000, bytesMax: 4_000_000 } };
    const room = await linkedRoom('hoard', {
      n2: { options: { limits }, handle: (_from, _request, reply) => reply({ kind: 'object', object }) },
    });
    room.world.network.clog(['n2'], ['n1']);
    let most = 0;
    for (let turn = 0; turn < 50; turn++) {
      for (let index = 0; index < 10; index++) room.read('n1', 'n2', `${index}`, 60 * second);
      await room.pass(5000);
      most = Math.max(most, room.seat('n2').plane.gauges().inboundAnswers);
    }
    expect(most).toBeLessThan(20);
    room.world.network.heal();
    await room.pass(10 * second);
    const { counts } = room.seat('n1');
    expect([counts.of('requestSent'), counts.of('responseReceived')]).toEqual([500, 500]);
    expect([counts.of('linkClosed'), room.seat('n2').counts.of('inboundOverloaded')]).toEqual([0, 0]);
  });

  test('sends answers that take longer than a peer may be silent, while it does not read the peer', async () => {
    const object = Buffer.alloc(100_000);
    const handle: RequestHandler = (_from, _request, reply) => reply({ kind: 'object', object });
    const room = await linkedRoom('deaf', { n2: { handle } }, { bytesPerUs: 0.25 });
    const asked = Array.from({ length: 50 }, (_, index) => room.read('n1', 'n2', `${index}`, 60 * second));
    await room.pass(30 * second);
    expect(new Set(asked.flatMap(codes))).toEqual(new Set(['object']));
    expect([room.seat('n1').counts.of('linkClosed'), room.seat('n2').counts.of('inboundClosed')]).toEqual([
      0, 0,
    ]);
  });

  test('answers Overloaded to reads whose objects exceed its memory, and keeps the connection', async () => {
    const object = Buffer.alloc(100_000);
    const held: (() => void)[] = [];
    const limits = { ...defaultPeerLimits, answers: { countMax: 20_000, bytesMax: 1_000_000 } };
    const room = await linkedRoom('room', {
      n2: {
        options: { limits },
        handle: (_from, _request, reply) => held.push(() => reply({ kind: 'object', object })),
      },
    });
    const asked = Array.from({ length: 100 }, (_, index) => room.read('n1', 'n2', `${index}`, 60 * second));
    await room.pass(second);
    room.world.network.clog(['n2'], ['n1']);
    room.seat('n2').io.clock.after(0, () => held.forEach((answer) => answer()));
    await room.pass(100_000);
    expect(room.seat('n2').plane.gauges().inboundAnswerBytes).toBeLessThan(1_200_000);
    room.world.network.heal();
    await room.pass(10 * second);
    const overloaded = asked.flatMap(codes).filter((code) => code === 'Overloaded');
    expect(asked.flatMap(codes)).toHaveLength(100);
    expect(overloaded.length).toBeGreaterThan(80);
    expect(room.seat('n2').counts.of('inboundOverloaded')).toBe(overloaded.length);
    expect(room.seat('n1').counts.of('linkClosed')).toBe(0);
  });

  test('keeps one connection of a peer: the one made last', async () => {
    const room = await linkedRoom('anew');
    room.world.mustGetHost('n2').crash('keepAll', 'silent');
    room.start('n2');
    expect(await room.until(() => room.linked('n2', 'n1'), 3 * second)).toBe(true);
    expect(await room.until(() => room.seat('n1').plane.gauges().inboundConnections === 2, 2 * second)).toBe(
      true,
    );
    expect(room.seat('n1').counts.of('inboundClosed.closedHere')).toBe(1);
    const asked = room.read('n2', 'n1', 'k');
    await room.pass(second);
    expect(codes(asked)).toEqual(['object']);
  });
});

describe('a run', () => {
  test('is the same again with the same seed', async () => {
    const digests: string[] = [];
    for (let run = 0; run < 2; run++) {
      const room = await linkedRoom('again', { n3: { handle: echoFrom('n3') } });
      room.world.network.partition(['n1'], ['n3']);
      for (let index = 0; index < 50; index++)
        room.ask('n1', index % 2 === 0 ? 'n2' : 'n3', readOf(`${index}`));
      await room.pass(20 * second);
      expect(room.seat('n1').plane.isConnected('n3' as NodeId)).toBe(false);
      digests.push(room.world.digest());
    }
    expect(digests[0]).toBe(digests[1]);
  });
});
