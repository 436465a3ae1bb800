/** Tests of one connection of the binary protocol: order, bounds, malformed input, and its end. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import { settle } from '../testing/test-io.fixture.ts';
import { requestsPerTurn } from '../session/fair-turns.ts';
import type { ClientRequest } from './client-codec.ts';
import { encodeRequest } from './client-codec.ts';
import type { PbcPeer } from './peer.fixture.ts';
import { TestingServer } from './server.fixture.ts';

function get(key: string): ClientRequest {
  return { kind: 'get', message: { bucket: Buffer.from('b'), key: Buffer.from(key) } };
}

function put(key: string, value = key): ClientRequest {
  const content = { value: Buffer.from(value) };
  return { kind: 'put', message: { bucket: Buffer.from('b'), key: Buffer.from(key), content } };
}

function del(key: string): ClientRequest {
  return { kind: 'delete', message: { bucket: Buffer.from('b'), key: Buffer.from(key) } };
}

const ping: ClientRequest = { kind: 'ping' };

/** The kinds of the answers, with their values if they have any. */
function story(peer: PbcPeer): string[] {
  return peer.replies().map((reply) => {
    if (reply.kind === 'failed') return `failed ${reply.code ?? ''}`;
    if (reply.kind !== 'got') return reply.kind;
    return ['got', ...(reply.message.content ?? []).map(({ value }) => Buffer.from(value).toString())].join(
      ' ',
    );
  });
}

test('pipelined requests are answered in the order sent, whichever finishes first', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  await peer.request(put('a'), put('b'));
  story(peer);
  testing.dispatcher.holding = true;
  await peer.request(get('a'), ping, get('b'));
  expect(testing.dispatcher.held).toBe(2);
  testing.dispatcher.releaseAt(1);
  await peer.turn();
  expect(story(peer)).toEqual([]);
  testing.dispatcher.release();
  await peer.turn();
  expect(story(peer)).toEqual(['got a', 'pong', 'got b']);
});

test('a client reads what it wrote before, and a writer waits for the reads before it', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  testing.dispatcher.holding = true;
  await peer.request(put('a', 'one'), get('a'), get('a'), del('a'), get('other'));
  const underWay: number[] = [];
  for (let held = testing.dispatcher.held; held > 0; held = testing.dispatcher.held) {
    underWay.push(held);
    testing.dispatcher.release();
    await peer.turn();
  }
  // First the put alone, then both gets, then the second get, then the deletion beside the other key, and so on.
  expect(underWay.slice(0, 4)).toEqual([1, 2, 1, 2]);
  expect(story(peer)).toEqual(['stored', 'got one', 'got one', 'deleted', 'got']);
});

test('at most the limit are under way, and the rest is not read', async () => {
  const testing = await TestingServer.start({ inFlightMax: 4 });
  const peer = testing.join();
  testing.dispatcher.holding = true;
  const requests = Array.from({ length: 20 }, (_, index) => get(`k${index}`));
  await peer.send(...requests.map(encodeRequest));
  expect(testing.dispatcher.held).toBe(4);
  expect(peer.paused).toBe(true);
  expect(peer.undelivered).toBe(16);
  while (testing.dispatcher.release()) await peer.turn();
  expect(story(peer)).toEqual(requests.map(() => 'got'));
  expect(testing.dispatcher.underWayMax).toBe(4);
  expect(testing.observer.outQueueMax).toBe(4);
  expect(peer.paused).toBe(false);
});

test('a pipelining client begins few requests per turn, and others are answered in between', async () => {
  const testing = await TestingServer.start({ inFlightMax: 1000 });
  testing.clock.holdsTurns = true;
  const [greedy, modest] = [testing.join(), testing.join()];
  const sent = 2 * requestsPerTurn + 10;
  // Invalid requests count as well.
  const wrong = Buffer.of(0, 0, 0, 2, 11, 0xff);
  const requests = Array.from({ length: sent }, (_, index) =>
    index % 2 === 0 ? encodeRequest(get('a')) : wrong,
  );
  await greedy.send(Buffer.concat(requests));
  expect(story(greedy)).toHaveLength(requestsPerTurn);
  expect(greedy.paused).toBe(true);
  await modest.request(get('b'));
  expect(story(modest)).toEqual(['got']);
  testing.clock.advance(0);
  await greedy.turn();
  expect(story(greedy)).toHaveLength(requestsPerTurn);
  testing.clock.advance(0);
  await greedy.turn();
  expect(story(greedy)).toHaveLength(10);
  expect(greedy.paused).toBe(false);
});

test('a client that does not read is not read from', async () => {
  const testing = await TestingServer.start({ inFlightMax: 4 });
  testing.network.highWaterBytes = 10_000;
  const peer = testing.join();
  await peer.request(put('a', 'x'.repeat(5000)));
  await peer.reads(false);
  await peer.send(...Array.from({ length: 50 }, () => encodeRequest(get('a'))));
  expect(peer.paused).toBe(true);
  // The bytes that the network port may hold, and the requests that were under way when it was full.
  expect(peer.pendingBytes).toBeLessThan(10_000 + 4 * 6000);
  expect(testing.dispatcher.gets.length).toBeLessThan(10);
  await peer.reads(true);
  expect(story(peer).length).toBe(51);
});

test('answers that wait for an earlier one are bounded by their bytes', async () => {
  const testing = await TestingServer.start({ inFlightMax: 20, owedBytesMax: 10_000 });
  const peer = testing.join();
  await peer.request(put('big', 'x'.repeat(5000)));
  story(peer);
  testing.dispatcher.holding = true;
  await peer.request(get('slow'));
  testing.dispatcher.holding = false;
  await peer.send(...Array.from({ length: 10 }, () => encodeRequest(get('big'))));
  expect(testing.dispatcher.gets.length).toBeLessThan(5);
  expect(peer.paused).toBe(true);
  testing.dispatcher.release();
  await peer.turn();
  expect(story(peer).length).toBe(11);
});

const malformed: readonly [string, Buffer, string][] = [
  ['a frame of length 0', Buffer.of(0, 0, 0, 0), 'length 0'],
  ['an oversized frame', Buffer.of(0xff, 0xff, 0xff, 0xff, 1), 'exceeds the limit of 20000 bytes'],
  ['another protocol', Buffer.from('GET / HTTP/1.1\r\n'), 'exceeds the limit'],
];

for (const [what, bytes, text] of malformed) {
  test(`${what} is answered after the earlier requests, then the connection is closed and counted`, async () => {
    const testing = await TestingServer.start();
    const peer = testing.join();
    testing.dispatcher.holding = true;
    await peer.send(Buffer.concat([encodeRequest(get('a')), bytes, encodeRequest(ping)]));
    expect(peer.replies()).toEqual([]);
    expect(peer.serverEnded).toBe(false);
    testing.dispatcher.release();
    await peer.turn();
    expect(peer.replies()).toEqual([
      expect.objectContaining({ kind: 'got' }),
      expect.objectContaining({ code: 'FrameInvalid', text: expect.stringContaining(text) }),
    ]);
    expect(peer.serverEnded).toBe(true);
    await peer.send(Buffer.alloc(1000));
    await peer.endClient();
    expect(peer.closed).toBe('ended');
    expect(testing.observer.describe()).toBe('opened 1, read 1, failed 1, closed error 1');
    expect(testing.log.names).toEqual(['pbc.connection.refused']);
    expect(testing.server.connections).toBe(0);
    expect(testing.join().closed).toBeUndefined();
  });
}

test('a connection closed with an error does not wait forever for its client', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  await peer.send(Buffer.of(0, 0, 0, 0));
  expect(peer.serverEnded).toBe(true);
  testing.clock.advance(2_000_000);
  await peer.turn();
  expect([peer.closed, testing.observer.describe()]).toEqual([
    'closedHere',
    'opened 1, failed 1, closed error 1',
  ]);
});

test('a message must be complete in time; between messages a client may be silent', async () => {
  const testing = await TestingServer.start({ messageUsMax: 1_000_000 });
  const peer = testing.join();
  const bytes = encodeRequest(get('a'));
  for (let count = 0; count < 3; count++) {
    await peer.send(bytes.subarray(0, 3));
    testing.clock.advance(900_000);
    await peer.send(bytes.subarray(3));
    testing.clock.advance(5_000_000);
    await peer.turn();
  }
  expect([story(peer), peer.serverEnded]).toEqual([['got', 'got', 'got'], false]);
  for (let at = 0; at < 4; at++) {
    await peer.send(bytes.subarray(at, at + 1));
    testing.clock.advance(300_000);
    await peer.turn();
  }
  expect([story(peer), peer.serverEnded]).toEqual([['failed FrameInvalid'], true]);
  testing.clock.advance(2_000_000);
  await peer.turn();
  expect(testing.observer.describe()).toBe('opened 1, read 3, failed 1, closed error 1');
});

test('large answers shrink the window of requests under way, small ones grow it', async () => {
  const testing = await TestingServer.start({ owedBytesMax: 5_000, inFlightMax: 200 });
  const peer = testing.join();
  await peer.request(put('large', 'x'.repeat(6_000)), put('small', 'x'));
  /** The most requests under way while none is answered. */
  const under = async (name: string): Promise<number> => {
    testing.dispatcher.holding = true;
    await peer.request(...Array.from({ length: 100 }, () => get(name)));
    const { underWay } = testing.dispatcher;
    testing.dispatcher.holding = false;
    for (let moved = true; moved;) {
      const before = peer.replies().length;
      moved = testing.dispatcher.release() || before > 0;
      await peer.turn();
    }
    return underWay;
  };
  expect(await under('large')).toBeLessThan(8);
  expect(await under('large')).toBe(3);
  await under('small');
  expect(await under('small')).toBe(100);
});

test('incomplete messages share one budget; small ones proceed, and a close releases its share', async () => {
  const testing = await TestingServer.start({ frameBytesMax: 500_000, connectionCountMax: 9 });
  const bytes = encodeRequest(put('a', 'x'.repeat(300_000)));
  const [first, second, third] = [testing.join(), testing.join(), testing.join()];
  const begin = async (peer: typeof first): Promise<void> => {
    await peer.send(bytes.subarray(0, 100_000));
    await peer.send(bytes.subarray(100_000, 250_000));
  };
  await begin(first);
  await begin(second);
  expect([story(first), story(second), second.serverEnded]).toEqual([[], ['failed Overloaded'], true]);
  await third.send(encodeRequest(get('a')));
  expect(story(third)).toEqual(['got']);
  await begin(third);
  expect(story(third)).toEqual(['failed Overloaded']);
  await first.send(bytes.subarray(250_000));
  const fourth = testing.join();
  await begin(fourth);
  expect([story(first).length, story(fourth)]).toEqual([1, []]);
});

test('the close waits for a client that keeps reading the last answers', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  await peer.request(put('a', 'x'.repeat(5000)));
  await peer.reads(false);
  await peer.request(get('a'), get('a'));
  await peer.endClient();
  expect(peer.serverEnded).toBe(true);
  testing.clock.advance(900_000);
  await peer.reads(true);
  expect(story(peer).length).toBe(3);
  expect([peer.closed, testing.observer.describe()]).toEqual([
    'ended',
    'opened 1, write 1, read 2, closed eof 1',
  ]);
});

test('a client that ends after its requests gets its answers; one that ends within a frame gets an error', async () => {
  const testing = await TestingServer.start();
  const whole = testing.join();
  testing.dispatcher.holding = true;
  await whole.request(get('a'), get('b'));
  await whole.endClient();
  expect(whole.closed).toBeUndefined();
  while (testing.dispatcher.release()) await whole.turn();
  expect([story(whole), whole.closed]).toEqual([['got', 'got'], 'ended']);
  testing.dispatcher.holding = false;
  const cut = testing.join();
  await cut.send(encodeRequest(get('a')).subarray(0, 7));
  await cut.endClient();
  expect([story(cut), cut.closed]).toEqual([['failed FrameInvalid'], 'ended']);
  expect(testing.observer.describe()).toBe('opened 2, read 2, closed eof 1, failed 1, closed error 1');
});

test('a client that disconnects loses only its answers', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  testing.dispatcher.holding = true;
  await peer.request(put('a'), get('b'));
  await peer.reset();
  expect(testing.observer.describe()).toBe('opened 1, write 1, read 1, closed error 1');
  testing.dispatcher.holding = false;
  while (testing.dispatcher.release()) await settle();
  expect([testing.running, testing.failed]).toEqual([0, []]);
  const next = testing.join();
  await next.request(get('a'));
  expect(story(next)).toEqual(['got a']);
});

test('connections beyond the limit get an error and are closed', async () => {
  const testing = await TestingServer.start({ connectionCountMax: 2 });
  const first = testing.join();
  testing.join();
  const third = testing.join();
  await third.turn();
  expect([story(third), third.serverEnded]).toEqual([['failed Overloaded'], true]);
  await third.endClient();
  expect(testing.server.connections).toBe(2);
  await first.endClient();
  const fourth = testing.join();
  await fourth.request(ping);
  expect(story(fourth)).toEqual(['pong']);
});

test('a stopping server answers requests under way, takes no more, and ends', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  const idle = testing.join();
  testing.dispatcher.holding = true;
  await peer.request(get('a'));
  let stopped = false;
  const stop = testing.server.stop(5000).then(() => (stopped = true));
  await settle();
  await peer.request(get('late'));
  expect([peer.serverEnded, idle.serverEnded]).toEqual([false, true]);
  // A client that takes nothing of the last answers delays a stop by a second.
  expect([peer.patienceUs, idle.patienceUs]).toEqual([30_000_000, 1_000_000]);
  testing.dispatcher.release();
  await peer.turn();
  expect([story(peer), peer.serverEnded, stopped]).toEqual([['got'], true, false]);
  await peer.endClient();
  await idle.endClient();
  await stop;
  expect(testing.dispatcher.gets.length).toBe(1);
  expect(testing.observer.describe()).toBe('opened 2, read 1, closed closedHere 2');
});

test('a stop waits no longer than its limit', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  testing.dispatcher.holding = true;
  await peer.request(get('a'));
  const stop = testing.server.stop(5000);
  await settle();
  testing.clock.advance(5_000_000);
  await peer.turn();
  await stop;
  expect(peer.closed).toBe('closedHere');
});

test('arbitrary bytes in arbitrary pieces never break the server', async () => {
  const valid = fc.constantFrom(get('a'), put('a'), del('a'), ping).map(encodeRequest);
  const framed = fc
    .tuple(fc.nat(30), fc.uint8Array({ maxLength: 40 }))
    .map(([code, body]) => Buffer.concat([Buffer.of(0, 0, 0, body.length + 1, code), body]));
  const wild = fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes));
  const stream = fc.array(fc.oneof({ weight: 4, arbitrary: valid }, { weight: 2, arbitrary: framed }, wild), {
    maxLength: 10,
  });
  await fc.assert(
    fc.asyncProperty(stream, fc.integer({ min: 1, max: 50 }), fc.boolean(), async (parts, size, reset) => {
      const testing = await TestingServer.start();
      const peer = testing.join();
      const bytes = Buffer.concat(parts);
      const pieces: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
      await peer.send(...pieces);
      await (reset ? peer.reset() : peer.endClient());
      expect(peer.closed).toBe(reset ? 'reset' : 'ended');
      expect([testing.server.connections, testing.running, testing.failed]).toEqual([0, 0, []]);
    }),
    { numRuns: 300 },
  );
});

test('an unexpected error is answered as Internal, logged, and affects only its request', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  testing.dispatcher.failure = new LockstepError('Internal', 'a bug');
  await peer.request(get('a'), ping);
  expect(story(peer)).toEqual(['failed Internal', 'pong']);
  expect(testing.log.names).toEqual(['api.pbc.failed']);
});
