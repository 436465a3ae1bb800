/**
 * Counts what one request of a client costs a quiet cluster of three nodes: messages and bytes between the nodes, syncs
 * and bytes written to disks, timers and clock readings. All of it is counted at the ports, in virtual time, so the
 * counts of one seed are always the same.
 *
 * A request is repeated, each time for another key, and the least counts: heartbeats, gossip and the like also happen now
 * and then, and can only add to it.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { Io } from '../../../engine/io/io.ts';
import { FrameDecoder } from '../../../engine/peer/wire/frames.ts';
import { PbConnection } from '../../workload/pb-connection.ts';
import { RedisConnection } from '../../workload/redis-connection.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import { clusterPorts } from '../../world/cluster/node-config.ts';
import type { ConnectionEnd } from '../../world/core/watchers.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;
/** Microseconds from a request to the end of all that it causes on any node. */
const windowUs = 20_000;
const patienceUs = 5 * second;
const repetitions = 15;
const names = ['n1', 'n2', 'n3'] as const;

/** What one request costs all three nodes together. */
export interface RequestCost {
  /** Frames between nodes: requests and answers. */
  readonly messages: number;
  /** Bytes of these frames. */
  readonly messageBytes: number;
  readonly syncs: number;
  readonly bytesWritten: number;
  readonly timers: number;
  readonly clockReadings: number;
}

const fields = ['messages', 'messageBytes', 'syncs', 'bytesWritten', 'timers', 'clockReadings'] as const;

/** The protocols, as the budget's page names them. */
export type BudgetProtocol = 'HTTP' | 'binary' | 'Redis';

/** A cluster that counts, and a client with one connection of each protocol to `n1`. */
export class RequestCounter {
  readonly world: World;
  readonly #cluster: Cluster;
  readonly #io: Io;
  readonly #http: HttpClient;
  readonly #decoders = new Map<string, FrameDecoder>();
  #messages = 0;
  #messageBytes = 0;
  #syncs = 0;
  #bytesWritten = 0;
  #pb: PbConnection | undefined;
  #redis: RedisConnection | undefined;

  constructor() {
    const tuning = { network: { splitOneIn: 0 }, disk: { shortOneIn: 0 } };
    this.world = new World({ seed: 'budget', logLevel: 'warn', tuning });
    const nodes = names.map((name, index) => ({ name, datacenter: 'dc1', rack: `r${index + 1}` }));
    this.#cluster = new Cluster(this.world, nodes, {});
    const client = this.world.addHost('client');
    this.#io = client.boot();
    this.#http = this.world.httpClient(client);
    this.#watch();
  }

  /** Starts the nodes and connects the client. */
  async start(): Promise<void> {
    for (const name of names) this.#cluster.start(name);
    const serving = (): boolean => names.every((name) => this.#cluster.serves(name));
    await this.world.runUntil(serving, 30 * second);
    assert(serving(), 'the nodes start');
    await this.world.run({ untilUs: this.world.nowUs + 5 * second });
    const at = (port: 'pb' | 'redis') => ({ address: this.#cluster.address('n1', port) });
    this.#pb = await this.#through(PbConnection.open(this.#io, at('pb'), patienceUs));
    this.#redis = await this.#through(RedisConnection.open(this.#io, at('redis'), patienceUs));
  }

  /** The least cost of a write of a new key, and of a read of that key. `beside` runs in each window, too. */
  async costs(
    protocol: BudgetProtocol,
    beside: () => void = () => undefined,
  ): Promise<Readonly<Record<'put' | 'get', RequestCost>>> {
    const puts: RequestCost[] = [];
    const gets: RequestCost[] = [];
    for (let index = 0; index < repetitions; index++) {
      const key = `${protocol}-${index}`;
      puts.push(await this.#costOf(() => this.#put(protocol, key), beside));
      gets.push(await this.#costOf(() => this.#get(protocol, key), beside));
    }
    return { put: leastOf(puts), get: leastOf(gets) };
  }

  /** The least costs of a Redis pipeline of `count` writes of new keys, and of one of as many reads of them. */
  async pipelineCosts(count: number): Promise<Readonly<Record<'puts' | 'gets', RequestCost>>> {
    const puts: RequestCost[] = [];
    const gets: RequestCost[] = [];
    const value = 'x'.repeat(100);
    for (let index = 0; index < repetitions; index++) {
      const keys = Array.from({ length: count }, (_, at) => `pipeline-${index}-${at}`);
      puts.push(await this.#pipelineCost(keys.map((key) => ['SET', key, value])));
      gets.push(await this.#pipelineCost(keys.map((key) => ['GET', key])));
    }
    return { puts: leastOf(puts), gets: leastOf(gets) };
  }

  async #pipelineCost(commands: readonly (readonly string[])[]): Promise<RequestCost> {
    return this.#costOf(
      async () => {
        const exchange = await this.#redis?.ask(commands, patienceUs);
        const isDone =
          exchange?.kind === 'answered' &&
          exchange.answer.every(({ kind }) => kind !== 'error' && kind !== 'nothing');
        assert(isDone, 'the commands succeed');
      },
      () => undefined,
    );
  }

  /** Sends one read of a key to another node, over HTTP. */
  readElsewhere(): void {
    const request = { method: 'GET', path: '/buckets/b/keys/other' } as const;
    this.#http.request(this.#cluster.address('n2', 'http'), request, patienceUs).catch(() => undefined);
  }

  async #costOf(request: () => Promise<void>, beside: () => void): Promise<RequestCost> {
    const before = this.#total();
    const endUs = this.world.nowUs + windowUs;
    beside();
    await this.#through(request());
    await this.world.run({ untilUs: endUs });
    const after = this.#total();
    return costFrom((field) => after[field] - before[field]);
  }

  async #put(protocol: BudgetProtocol, key: string): Promise<void> {
    const value = Buffer.alloc(100, 'x');
    if (protocol === 'HTTP') {
      const headers = { 'Content-Type': 'text/plain' };
      const request = { method: 'PUT', path: `/buckets/b/keys/${key}`, headers, body: value } as const;
      const { status } = await this.#http.request(this.#cluster.address('n1', 'http'), request, patienceUs);
      assert(status === 204, 'the write succeeds');
    } else if (protocol === 'binary') {
      const message = { bucket: Buffer.from('b'), key: Buffer.from(key), content: { value } };
      const exchange = await this.#pb?.ask({ kind: 'put', message }, patienceUs);
      assert(exchange?.kind === 'answered' && exchange.answer.kind !== 'failed', 'the write succeeds');
    } else {
      const exchange = await this.#redis?.ask([['SET', key, value.toString()]], patienceUs);
      assert(exchange?.kind === 'answered' && exchange.answer[0]?.kind !== 'error', 'the write succeeds');
    }
  }

  async #get(protocol: BudgetProtocol, key: string): Promise<void> {
    if (protocol === 'HTTP') {
      const request = { method: 'GET', path: `/buckets/b/keys/${key}` } as const;
      const { status } = await this.#http.request(this.#cluster.address('n1', 'http'), request, patienceUs);
      assert(status === 200, 'the read finds the object');
    } else if (protocol === 'binary') {
      const message = { bucket: Buffer.from('b'), key: Buffer.from(key) };
      const exchange = await this.#pb?.ask({ kind: 'get', message }, patienceUs);
      assert(exchange?.kind === 'answered' && exchange.answer.kind !== 'failed', 'the read succeeds');
    } else {
      const exchange = await this.#redis?.ask([['GET', key]], patienceUs);
      assert(exchange?.kind === 'answered' && exchange.answer[0]?.kind !== 'error', 'the read succeeds');
    }
  }

  async #through<T>(work: Promise<T>): Promise<T> {
    await this.world.runUntil(work, 2 * patienceUs);
    return work;
  }

  #total(): RequestCost {
    const { timersSet, readings } = this.world.clockCallsOf(names);
    return {
      messages: this.#messages,
      messageBytes: this.#messageBytes,
      syncs: this.#syncs,
      bytesWritten: this.#bytesWritten,
      timers: timersSet,
      clockReadings: readings,
    };
  }

  #watch(): void {
    const nothing = (): void => undefined;
    this.world.network.watch({
      opened: nothing,
      wrote: (end, bytes) => this.#wrote(end, bytes),
      heard: nothing,
      toldEnd: nothing,
      left: nothing,
      closed: nothing,
      connectFailed: nothing,
    });
    const isNode = (host: string): boolean => names.some((name) => name === host);
    this.world.trace.on('disk.file.synced', ({ host }) => {
      if (isNode(host)) this.#syncs += 1;
    });
    this.world.trace.on('disk.file.written', ({ host, fields: { bytes } }) => {
      if (isNode(host)) this.#bytesWritten += Number(bytes);
    });
  }

  #wrote({ id, side, port }: ConnectionEnd, bytes: Uint8Array): void {
    if (port !== clusterPorts.peer) return;
    const name = `${id} ${side}`;
    const decoder = this.#decoders.get(name) ?? new FrameDecoder({ frameBytesMax: 2 ** 30 });
    this.#decoders.set(name, decoder);
    this.#messageBytes += bytes.length;
    decoder.push(Uint8Array.from(bytes));
    while (decoder.next() !== undefined) this.#messages += 1;
  }
}

function leastOf(costs: readonly RequestCost[]): RequestCost {
  return costFrom((field) => Math.min(...costs.map((cost) => cost[field])));
}

function costFrom(of: (field: (typeof fields)[number]) => number): RequestCost {
  return {
    messages: of('messages'),
    messageBytes: of('messageBytes'),
    syncs: of('syncs'),
    bytesWritten: of('bytesWritten'),
    timers: of('timers'),
    clockReadings: of('clockReadings'),
  };
}
