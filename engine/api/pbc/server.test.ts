/** Tests the binary protocol's server over the machine's sockets, with real chunks, back-pressure and disconnects. */
import { Gate } from '../../auth/gate.ts';
import { expect, test } from 'vitest';
import { Deferred } from '../../base/deferred.ts';
import type { Connection, ConnectionHandler } from '../../io/network.ts';
import { realClock } from '../../real/clock.ts';
import { RealNetwork } from '../../real/network.ts';
import { defaultContentLimits } from '../content-limits.ts';
import type { Token } from '../../base/ids.ts';
import { defaultJobLimits } from '../../mapreduce/job.ts';
import { MapLister } from '../testing/map-lister.fixture.ts';
import { ScriptedJobs } from '../testing/scripted-jobs.fixture.ts';
import { RequestBudget } from '../session/request-budget.ts';
import { MapBuckets } from '../testing/map-buckets.fixture.ts';
import { MapDispatcher, replicaCount } from '../testing/map-dispatcher.fixture.ts';
import { ScriptedTransactions } from '../testing/scripted-transactions.fixture.ts';
import { TallyingObserver } from '../testing/tallying-observer.fixture.ts';
import { CountingRandom, TestClock, TestLog } from '../testing/test-io.fixture.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { decodeReply, encodeRequest } from './client-codec.ts';
import { FrameReader } from './frames.ts';
import { PbcServer } from './server.ts';
import { defaultSessionLimits } from './session.ts';

const network = new RealNetwork();

class Client implements ConnectionHandler {
  readonly replies: ClientReply[] = [];
  readonly closed = new Deferred<string>();
  readonly connection: Connection;
  readonly #reader = new FrameReader(1 << 26);
  #waiting: { count: number; done: Deferred<void> } | undefined;

  constructor(connection: Connection) {
    this.connection = connection;
    connection.start(this);
  }

  static async join(address: string): Promise<Client> {
    return new Client(await network.connect(address, 5_000_000));
  }

  /** Resolves once that many replies have arrived. */
  async answered(count: number): Promise<readonly ClientReply[]> {
    this.#waiting = { count, done: new Deferred<void>() };
    if (this.replies.length < count) await this.#waiting.done.promise;
    return this.replies;
  }

  onData(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
      this.replies.push(decodeReply(frame));
    }
    if (this.#waiting !== undefined && this.replies.length >= this.#waiting.count)
      this.#waiting.done.resolve();
  }

  onDrain(): void {
    // The tests write without regard to back-pressure.
  }

  onEnd(): void {
    this.connection.end();
  }

  onClose(reason: string): void {
    this.closed.resolve(reason);
  }
}

interface Running {
  readonly server: PbcServer;
  readonly address: string;
  readonly dispatcher: MapDispatcher;
  readonly observer: TallyingObserver;
}

async function start(): Promise<Running> {
  const dispatcher = new MapDispatcher();
  const observer = new TallyingObserver();
  const spawn = (_: string, task: () => Promise<void>): void => void task().catch(() => observer.failed());
  const server = new PbcServer(
    {
      io: { clock: realClock, log: new TestLog(), network, random: new CountingRandom(), spawn },
      dispatcher,
      transactions: new ScriptedTransactions(),
      transactionLimits: {
        operationCountMax: 10,
        bytesMax: 1000,
        content: defaultContentLimits,
        knowsType: () => false,
      },
      observer,
      terms: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => replicaCount },
      gate: new Gate({ log: new TestLog(), clock: new TestClock() }, undefined),
      requests: new RequestBudget(16 * 1024 * 1024),
      limits: defaultContentLimits,
      knowsType: () => false,
      buckets: new MapBuckets(['default']),
      lister: new MapLister(),
      mapReduce: new ScriptedJobs(),
      jobLimits: defaultJobLimits,
      preflist: () => ({ token: 0 as Token, nodes: [] }),
      serverInfo: { node: 'n1', version: '0.1.0' },
    },
    { ...defaultSessionLimits, connectionCountMax: 10 },
  );
  return { server, address: await server.start('127.0.0.1:0'), dispatcher, observer };
}

const key = Buffer.from('k');
const get: ClientRequest = { kind: 'get', message: { bucket: Buffer.from('b'), key } };

function put(value: Buffer): ClientRequest {
  return { kind: 'put', message: { bucket: Buffer.from('b'), key, content: { value } } };
}

test('large values and many pipelined requests cross real sockets whole and in order', async () => {
  const { server, address, observer } = await start();
  const client = await Client.join(address);
  const value = Buffer.alloc(3_000_000, 'large ');
  const requests = [
    put(value),
    ...Array.from({ length: 20 }, () => get),
    ...Array.from({ length: 500 }, () => ({ kind: 'ping' }) as const),
  ];
  for (const request of requests) client.connection.write(encodeRequest(request));
  const replies = await client.answered(521);
  expect(replies.map((reply) => reply.kind)).toEqual([
    'stored',
    ...Array.from({ length: 20 }, () => 'got'),
    ...Array.from({ length: 500 }, () => 'pong'),
  ]);
  const last = replies[20];
  expect(last?.kind === 'got' && value.equals(last.message.content?.[0]?.value ?? key)).toBe(true);
  await server.stop(1000);
  expect(await client.closed.promise).toBe('ended');
  expect(observer.describe()).toBe('opened 1, write 1, read 20, closed closedHere 1');
});

test('a client that stops reading delays only itself', async () => {
  const { server, address, dispatcher } = await start();
  const slow = await Client.join(address);
  const other = await Client.join(address);
  slow.connection.write(encodeRequest(put(Buffer.alloc(1_000_000, 'x'))));
  await slow.answered(1);
  slow.connection.pause();
  for (let count = 0; count < 300; count++) slow.connection.write(encodeRequest(get));
  for (let count = 0; count < 50; count++) {
    other.connection.write(encodeRequest({ kind: 'ping' }));
    await other.answered(count + 1);
  }
  expect(dispatcher.gets.length).toBeLessThan(200);
  slow.connection.resume();
  await slow.answered(301);
  expect(dispatcher.gets.length).toBe(300);
  await server.stop(1000);
});

test('malformed input over a real socket is answered and closed while others are served', async () => {
  const { server, address, observer } = await start();
  const good = await Client.join(address);
  const bad = await Client.join(address);
  bad.connection.write(Buffer.from('GET /buckets HTTP/1.1\r\nHost: here\r\n\r\n'));
  expect(await bad.answered(1)).toEqual([
    expect.objectContaining({ code: 'FrameInvalid', text: expect.stringContaining('exceeds the limit of') }),
  ]);
  await bad.closed.promise;
  good.connection.write(encodeRequest({ kind: 'ping' }));
  expect(await good.answered(1)).toEqual([{ kind: 'pong' }]);
  expect(server.connections).toBe(1);
  await server.stop(1000);
  expect(observer.describe()).toBe('opened 2, failed 1, closed error 1, closed closedHere 1');
});
