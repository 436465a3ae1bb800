/** Tests how the peer plane treats unauthenticated peers, and peers that violate the protocol. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeId } from '../../../engine/base/ids.ts';
import type { Admission } from '../../../engine/peer/admission.ts';
import { defaultPeerLimits, defaultPeerTimeouts } from '../../../engine/peer/options.ts';
import { encodeReply, encodeRequest } from '../../../engine/peer/wire/codec.ts';
import { decodeGreeting, encodeHello } from '../../../engine/peer/wire/greetings.ts';
import { replyKinds } from '../../../engine/peer/wire/kinds.ts';
import type { NodeChange } from './plane-harness.ts';
import { peerPort, PlaneHarness, readOf } from './plane-harness.ts';
import { UnauthenticatedPeer } from './unauthenticated-peer.ts';

const second = 1_000_000;

/** Two linked nodes, and a third host from which an unauthenticated peer has connected to n1. */
async function visited(seed: string): Promise<{ room: PlaneHarness; stranger: UnauthenticatedPeer }> {
  const room = new PlaneHarness(seed);
  room.start('n1');
  room.start('n2');
  expect(await room.until(() => room.allLinked(['n1', 'n2']), 5 * second)).toBe(true);
  const stranger = new UnauthenticatedPeer();
  stranger.call(room.world.mustGetHost('n3').boot(), `n1:${peerPort}`);
  expect(await room.until(() => stranger.connected, second)).toBe(true);
  return { room, stranger };
}

/** The node still serves over its other link. */
async function expectServing(room: PlaneHarness): Promise<void> {
  const asked = room.read('n2', 'n1', 'k');
  await room.pass(second);
  expect(asked.replies).toHaveLength(1);
  expect(room.allLinked(['n1', 'n2'])).toBe(true);
  expect(room.world.failures).toEqual([]);
}

describe('a connection of an unauthenticated peer', () => {
  test('that sends malformed bytes is closed and counted, and nothing else happens', async () => {
    const garbage = fc.oneof(
      fc.uint8Array({ minLength: 24, maxLength: 200 }),
      fc.constant(Buffer.from('GET /buckets/b/keys/k HTTP/1.1\r\nHost: n1\r\n\r\n')),
    );
    await fc.assert(
      fc.asyncProperty(fc.nat(), garbage, async (seed, bytes) => {
        const { room, stranger } = await visited(`garbage ${seed}`);
        stranger.send(bytes);
        expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
        const { counts } = room.seat('n1');
        expect(counts.of('frameRejected.inbound.version')).toBe(1);
        expect(counts.of('inboundClosed.error')).toBe(1);
        await expectServing(room);
      }),
      { numRuns: 10 },
    );
  });

  test('that sends nothing is cut at the deadline of the greeting', async () => {
    const { room, stranger } = await visited('mute');
    await room.pass(defaultPeerTimeouts.handshakeUs - 100_000);
    expect(stranger.connected).toBe(true);
    expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
    expect(room.seat('n1').counts.of('inboundClosed.timedOut')).toBe(1);
    await expectServing(room);
  });

  test('that asks before it greets is closed', async () => {
    const { room, stranger } = await visited('rude');
    stranger.send(encodeRequest(stranger.arena, 1, readOf('k')));
    expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
    expect(room.seat('n1').counts.of('frameRejected.inbound.type')).toBe(1);
    expect(stranger.frames).toEqual([]);
    await expectServing(room);
  });

  test('that ends inside a frame is a truncation, counted as a wrong length', async () => {
    const { room, stranger } = await visited('cut');
    stranger.send(encodeHello(stranger.arena, room.options('n3').hello).subarray(0, 40));
    stranger.end();
    expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
    expect(room.seat('n1').counts.of('frameRejected.inbound.length')).toBe(1);
    await expectServing(room);
  });

  test.each([
    ['cluster', { clusterId: 'other' }],
    ['unknown', { node: 'n9' as NodeId }],
    ['identity', { node: 'n1' as NodeId }],
    ['location', { rack: 'r9' }],
    ['location', { datacenter: 'dc9' }],
  ] as const)('with the wrong papers is refused, and told why (%s)', async (reason, change) => {
    const { room, stranger } = await visited(`papers ${reason} ${JSON.stringify(change)}`);
    stranger.send(encodeHello(stranger.arena, { ...room.options('n3').hello, ...change }));
    expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
    await room.pass(100_000);
    const [answer] = stranger.frames.map(decodeGreeting);
    expect(answer).toMatchObject({ kind: 'refusal', reason });
    const { counts, plane } = room.seat('n1');
    expect(counts.of(`peerRefused.inbound.${reason}`)).toBe(1);
    expect([counts.of('inboundClosed.error'), counts.of('frameRejected')]).toEqual([1, 0]);
    expect(plane.gauges().inboundConnections).toBe(1);
    await expectServing(room);
  });

  test('of another wire version is refused by the first word', async () => {
    const { room, stranger } = await visited('version');
    const hello = Buffer.from(encodeHello(stranger.arena, room.options('n3').hello));
    hello[3] = 7;
    stranger.send(hello);
    expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
    const { counts } = room.seat('n1');
    expect([counts.of('peerRefused.inbound.version'), counts.of('frameRejected.inbound.version')]).toEqual([
      1, 1,
    ]);
    await expectServing(room);
  });

  test('that has greeted well and then sends a damaged frame is cut, and no handler hears of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), async (seed, place) => {
        const { room, stranger } = await visited(`damage ${seed}`);
        stranger.send(encodeHello(stranger.arena, room.options('n3').hello));
        await room.pass(100_000);
        const frame = Buffer.from(encodeRequest(stranger.arena, 1, readOf('k')));
        const at = place % frame.length;
        frame[at] = (frame[at] ?? 0) ^ 4;
        stranger.send(frame);
        expect(await room.until(() => stranger.closed !== undefined, second)).toBe(true);
        expect(stranger.frames).toHaveLength(1);
        const fault = at < 4 ? 'version' : 'crc';
        expect(room.seat('n1').counts.of(`frameRejected.inbound.${fault}`)).toBe(1);
        await expectServing(room);
      }),
      { numRuns: 15 },
    );
  });

  test('beyond the limit is closed on the spot', async () => {
    const room = new PlaneHarness('crowd');
    const limits = { ...defaultPeerLimits, inboundConnectionCountMax: 2 };
    room.start('n1', { options: { limits } });
    const io = room.world.mustGetHost('n3').boot();
    const strangers = [1, 2, 3, 4].map(() => new UnauthenticatedPeer());
    await room.pass(100_000);
    for (const stranger of strangers) stranger.call(io, `n1:${peerPort}`);
    await room.pass(second);
    expect(strangers.filter((stranger) => stranger.connected)).toHaveLength(2);
    expect(room.seat('n1').counts.of('peerRefused.inbound.busy')).toBe(2);
  });
});

test('nodes that refuse each other for ever say so once on each side, and count every time', async () => {
  const room = new PlaneHarness('outcast', ['n1', 'n2']);
  const told: string[] = [];
  room.world.trace.on('peer.link.refused', ({ host, level, fields }) => {
    if (level !== 'debug')
      told.push(`${host} ${level} ${fields['direction']} ${fields['by']}: ${fields['reason']}`);
  });
  const admission: Admission = {
    judge: () => ({ kind: 'refusal', reason: 'unknown', detail: 'not in the list' }),
    admitted: ({ node }) => told.push(`${node} was admitted`),
    refused: () => undefined,
  };
  room.start('n1', { admission });
  room.start('n2');
  await room.pass(120 * second);
  expect(room.seat('n1').counts.of('peerRefused.inbound.unknown')).toBeGreaterThan(20);
  expect(room.seat('n2').counts.of('peerRefused.outbound.unknown')).toBeGreaterThan(20);
  expect(told.sort()).toEqual([
    'n1 warn inbound refused here: unknown',
    'n1 warn outbound refused here: unknown',
    'n2 warn inbound refused by the peer: unknown',
    'n2 warn outbound refused by the peer: unknown',
  ]);
});

describe('a link to an unauthenticated peer', () => {
  /** n1, and an unauthenticated peer at n2's address. */
  async function misled(room: PlaneHarness, change: NodeChange = {}): Promise<UnauthenticatedPeer> {
    const stranger = new UnauthenticatedPeer();
    const { hello } = room.options('n2');
    stranger.listen(room.world.mustGetHost('n2').boot(), `n2:${peerPort}`, () => {
      stranger.send(encodeHello(stranger.arena, hello));
    });
    await room.pass(100_000);
    room.start('n1', change);
    expect(await room.until(() => room.linked('n1', 'n2'), second)).toBe(true);
    return stranger;
  }

  // A caller that waits for the greeting continues in the same event.
  test('takes requests by the time that anybody hears what its greeting says', async () => {
    const outcomes: string[] = [];
    const admission: Admission = {
      judge: () => undefined,
      admitted: ({ node }) => outcomes.push(`${node} ${room.read('n1', 'n2', 'k').outcome}`),
      refused: () => undefined,
    };
    const room = new PlaneHarness('at once');
    await misled(room, { admission });
    expect(outcomes).toEqual(['n2 ok']);
  });

  test('is not taken for the peer that should be there', async () => {
    const room = new PlaneHarness('impostor');
    const stranger = new UnauthenticatedPeer();
    stranger.listen(room.world.mustGetHost('n2').boot(), `n2:${peerPort}`, () => {
      stranger.send(encodeHello(stranger.arena, room.options('n3').hello));
    });
    room.start('n1');
    const { counts } = room.seat('n1');
    expect(await room.until(() => counts.of('peerRefused.outbound.identity') > 2, 20 * second)).toBe(true);
    expect([room.linked('n1', 'n2'), counts.of('peerAdmitted')]).toEqual([false, 0]);
    const answers = stranger.frames.map(decodeGreeting);
    expect(answers.some((answer) => answer.kind === 'refusal' && answer.reason === 'identity')).toBe(true);
  });

  test('gives an answer only to the request that it names, once, and of its kind', async () => {
    const room = new PlaneHarness('crossed');
    const stranger = await misled(room);
    const asked = room.read('n1', 'n2', 'k', 5 * second);
    await room.pass(100_000);
    const question = stranger.frames.at(-1);
    const id = question?.id ?? 0;
    const object = Buffer.from('here');
    stranger.send(encodeReply(stranger.arena, id + 1, { kind: 'object', object }));
    stranger.send(encodeReply(stranger.arena, id, { kind: 'written' }));
    await room.pass(100_000);
    expect(asked.replies).toEqual([]);
    expect(room.seat('n1').counts.of('responseMismatched')).toBe(2);
    for (let count = 0; count < 3; count++) {
      stranger.send(encodeReply(stranger.arena, id, { kind: 'object', object }));
    }
    await room.pass(100_000);
    expect(asked.replies).toEqual([{ kind: 'object', object }]);
    expect(room.seat('n1').counts.of('responseMismatched')).toBe(4);
    expect(room.linked('n1', 'n2')).toBe(true);
  });

  test('that sends what no peer sends is cut, and what was under way is answered', async () => {
    const room = new PlaneHarness('nonsense');
    const stranger = await misled(room);
    const asked = room.read('n1', 'n2', 'k', 5 * second);
    await room.pass(100_000);
    stranger.send(stranger.arena.frame(replyKinds.object, 1, Buffer.from([0x0a, 0x7f])));
    await room.pass(100_000);
    expect(asked.replies).toMatchObject([{ kind: 'failed', code: 'PeerGone' }]);
    const { counts } = room.seat('n1');
    expect([counts.of('frameRejected.outbound.type'), counts.of('linkClosed.error')]).toEqual([1, 1]);
  });

  test('that never greets is given up', async () => {
    const room = new PlaneHarness('speechless');
    const stranger = new UnauthenticatedPeer();
    stranger.listen(room.world.mustGetHost('n2').boot(), `n2:${peerPort}`, () => undefined);
    room.start('n1');
    const { counts } = room.seat('n1');
    expect(await room.until(() => counts.of('linkClosed.timedOut') > 1, 20 * second)).toBe(true);
    expect(counts.of('peerAdmitted')).toBe(0);
  });

  test('that has not greeted yet is stopped without a trace', async () => {
    const room = new PlaneHarness('early');
    const stranger = new UnauthenticatedPeer();
    stranger.listen(room.world.mustGetHost('n2').boot(), `n2:${peerPort}`, () => undefined);
    await room.pass(100_000);
    room.start('n1');
    expect(await room.until(() => stranger.frames.length === 1, second)).toBe(true);
    expect(await room.stop('n1')).toMatchObject({ timers: 0, connections: [], listeners: [], tasks: [] });
    expect(room.seat('n1').counts.of('linkClosed.closedHere')).toBe(1);
  });
});
