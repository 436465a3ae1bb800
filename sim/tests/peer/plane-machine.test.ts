/** Tests the peer plane on the machine's real ports: properties of real sockets that the world cannot prove. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { present } from '../../../engine/base/assert.ts';
import { Deferred } from '../../../engine/base/deferred.ts';
import type { NodeId } from '../../../engine/base/ids.ts';
import { sleep } from '../../../engine/io/clock.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { PeerTarget } from '../../../engine/peer/options.ts';
import { defaultPeerBackoff, defaultPeerLimits, defaultPeerTimeouts } from '../../../engine/peer/options.ts';
import { Plane } from '../../../engine/peer/plane.ts';
import { createRealIo } from '../../../engine/real/io.ts';
import type { PeerReply, PeerRequest } from '../../../engine/peer/wire/messages.ts';
import { Counts } from './counts.ts';
import { mergeOf, readOf } from './plane-harness.ts';

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lockstep-plane-'));
});

afterAll(() => rm(directory, { recursive: true }));

interface Seat {
  readonly io: Io;
  readonly plane: Plane;
  readonly counts: Counts;
}

/** An address of this machine that was free a moment ago. */
async function freeAddress(io: Io): Promise<string> {
  const listener = await io.network.listen('127.0.0.1:0', (connection) => connection.destroy());
  await listener.close();
  return listener.address;
}

/** Two linked planes that answer every read with the last merged object. */
async function twoLinked(): Promise<readonly [Seat, Seat]> {
  const ios = ['n1', 'n2'].map((node) =>
    createRealIo({ dataDirectory: join(directory, node), logLevel: 'error', node }),
  );
  const targets: PeerTarget[] = [];
  for (const [index, io] of ios.entries()) {
    const node = `n${index + 1}` as NodeId;
    targets.push({ node, address: await freeAddress(io), datacenter: 'dc1', rack: `r${index + 1}`, index });
  }
  const seats = ios.map((io, index) => seatOf(io, present(targets[index], 'a target'), targets));
  for (const { plane } of seats) await plane.start();
  const [first, second] = seats;
  const linked = (): boolean => seats.every(({ plane }) => plane.gauges().inboundConnections === 1);
  while (!(linked() && first?.plane.isConnected('n2' as NodeId)))
    await sleep(present(ios[0], 'io').clock, 5_000);
  return [present(first, 'n1'), present(second, 'n2')];
}

function seatOf(io: Io, self: PeerTarget, targets: readonly PeerTarget[]): Seat {
  const { node, datacenter, rack, address } = self;
  const counts = new Counts();
  let held: Uint8Array | undefined;
  const options = {
    hello: {
      clusterId: 'orchard',
      node,
      datacenter,
      rack,
      tokens: [],
      epoch: '1',
      generation: 1,
      joining: false,
      version: '0.1.0',
      messages: { min: 3, max: 4 },
    },
    listen: address,
    peers: targets.filter((target) => target !== self),
    limits: defaultPeerLimits,
    timeouts: defaultPeerTimeouts,
    backoff: defaultPeerBackoff,
  };
  const admission = {
    judge: () => undefined,
    admitted: () => undefined,
    refused: () => undefined,
  };
  const plane = new Plane(io, options, counts, admission, (_from, request, reply) => {
    if (request.kind === 'mergeObject') held = Buffer.from(request.object);
    reply(request.kind === 'readObject' ? { kind: 'object', object: held } : { kind: 'written' });
  });
  return { io, plane, counts };
}

function ask({ plane }: Seat, request: PeerRequest): Promise<PeerReply> {
  const answer = new Deferred<PeerReply>();
  const outcome = plane.request('n2' as NodeId, request, 10_000_000, (reply) => answer.resolve(reply));
  expect(outcome).toBe('ok');
  return answer.promise;
}

describe('on the machine', () => {
  test('requests small and large are answered, and a stop ends everything', async () => {
    const [first, second] = await twoLinked();
    const object = Buffer.alloc(8 << 20, 'all of it');
    expect(await ask(first, mergeOf('k', object))).toEqual({ kind: 'written' });
    const answer = await ask(first, readOf('k'));
    expect(answer.kind === 'object' && object.equals(answer.object ?? Buffer.alloc(0))).toBe(true);
    await ask(first, mergeOf('k', Buffer.from('small')));
    const answers = await Promise.all(
      Array.from({ length: 2000 }, (_, index) => ask(first, readOf(`${index}`))),
    );
    expect(answers.every((reply) => reply.kind === 'object')).toBe(true);
    await Promise.all([first.plane.stop(), second.plane.stop()]);
    expect([first.counts.of('linkOpened'), first.counts.of('linkClosed')]).toEqual([1, 1]);
    expect([first.io.failedTasks(), second.io.failedTasks()]).toEqual([0, 0]);
  });

  test('malformed bytes close their connection only', async () => {
    const [first, second] = await twoLinked();
    const [host, port] = (second.plane.address ?? '').split(':');
    const closed = new Deferred<void>();
    const socket = connect(Number(port), host, () => socket.write('GET / HTTP/1.1\r\nHost: n2\r\n\r\n'));
    socket.on('error', () => undefined);
    socket.on('close', () => closed.resolve());
    await closed.promise;
    expect(second.counts.of('frameRejected.inbound.version')).toBe(1);
    expect(await ask(first, { kind: 'ping' })).toEqual({ kind: 'pong' });
    await Promise.all([first.plane.stop(), second.plane.stop()]);
    expect(second.counts.of('inboundClosed')).toBe(2);
  });
});
