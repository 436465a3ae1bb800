/**
 * Tests that every error answer of every listener counts once, by its cause. Five of six nodes are down: the remaining
 * one owns some of the keys and knows that all other owners are down.
 */
import { beforeAll, describe, expect, it } from 'vitest';

import type { ClientReply, ClientRequest } from '../../../engine/api/pbc/client-codec.ts';
import { present } from '../../../engine/base/assert.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import type { Io } from '../../../engine/io/io.ts';
import { routeToken } from '../../../engine/cluster/ring/token.ts';
import { PbConnection } from '../../workload/pb-connection.ts';
import type { RedisCommand } from '../../workload/redis-connection.ts';
import { RedisConnection } from '../../workload/redis-connection.ts';
import type { PoolField } from '../../../engine/metrics/fixed-fields.ts';
import { poolFields } from '../../../engine/metrics/fixed-fields.ts';
import { JobHarness, jobNodes } from './job-harness.ts';

const left = 'n4';
const things = Buffer.from('things');

interface Counts {
  readonly errors: number;
  readonly dropped: number;
  readonly noTargets: number;
  readonly timeouts: number;
  readonly unmetReads: number;
  readonly unmetWrites: number;
}

type Counted = Partial<Counts>;

/** The counts of one request that ends without targets. */
const once: Counted = { errors: 1, dropped: 1, noTargets: 1 };

class Remaining {
  readonly room = new JobHarness('one is left', {
    gossip_interval_ms: 200,
    request_timeout_ms: 1_000,
    redis_bucket: 'things',
  });
  #io: Io | undefined;

  async start(): Promise<void> {
    const { room } = this;
    await room.start();
    await room.fill('things', 40, (index) => JSON.stringify({ n: index }));
    for (const name of jobNodes) if (name !== left) room.cluster.crash(name, 'dropAll', 'reset');
    await room.pass(20_000_000);
    this.#io = room.world.addHost('c2').boot();
  }

  /** A key of the bucket of which this node has a copy (`held`), or has none. */
  key(held: boolean): string {
    for (let index = 0; ; index++) {
      const token = routeToken('STD', byteStringOf('things'), byteStringOf(`k${index}`));
      const owners = this.room.cluster.ring.placement(token).map(({ node }) => String(node));
      if (owners.includes(left) === held && owners[0] !== left) return `k${index}`;
    }
  }

  /** What a request adds to the counts. */
  async counted(ask: () => Promise<unknown>): Promise<Counted> {
    const before = this.#counts();
    await ask();
    const after = this.#counts();
    const grown = [...after].map(([name, count]): [string, number] => [
      name,
      count - (before.get(name) ?? 0),
    ]);
    return Object.fromEntries(grown.filter(([, count]) => count !== 0));
  }

  http(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Counted> {
    const headers = { 'Content-Type': 'application/json' };
    const more = body === undefined ? {} : { headers, body: JSON.stringify(body) };
    return this.counted(async () => {
      const { status } = await this.room.call(left, method, path, more);
      expect(status).toBeGreaterThanOrEqual(400);
    });
  }

  pb(request: ClientRequest): Promise<Counted> {
    return this.counted(async () => {
      const talking = this.#overPb(request);
      await this.room.world.runUntil(talking, 60_000_000);
      expect(await talking).toBeDefined();
    });
  }

  redis(command: RedisCommand): Promise<Counted> {
    return this.counted(async () => {
      const talking = this.#overRedis(command);
      await this.room.world.runUntil(talking, 60_000_000);
      expect(await talking).toMatch(/^NOTARGETS|^NOQUORUM|^ABORTED no_quorum|^OVERLOADED/);
    });
  }

  async #overPb(request: ClientRequest): Promise<ClientReply | undefined> {
    const address = this.room.cluster.address(left, 'pb');
    const connection = await PbConnection.open(present(this.#io, 'a started room'), { address }, 1_000_000);
    const exchange = await connection.ask(request, 60_000_000, ({ kind }) => kind === 'keys');
    connection.close();
    return exchange.kind === 'lost' ? undefined : exchange.answer;
  }

  async #overRedis(command: RedisCommand): Promise<string | undefined> {
    const address = this.room.cluster.address(left, 'redis');
    const connection = await RedisConnection.open(
      present(this.#io, 'a started room'),
      { address },
      1_000_000,
    );
    const exchange = await connection.ask([command], 60_000_000);
    connection.close();
    const reply = exchange.kind === 'lost' ? undefined : exchange.answer[0];
    return reply?.kind === 'error' ? reply.text : reply?.kind;
  }

  #counts(): ReadonlyMap<string, number> {
    const { pool } = present(this.room.cluster.statistics(left), 'the counts of a node that runs');
    const field = (name: PoolField): number => pool[poolFields.indexOf(name)] ?? NaN;
    const counts: Counts = {
      errors: field('client_err'),
      dropped: field('client_dropped_requests'),
      noTargets: this.room.counted(left, 'dispatch_no_targets_total'),
      timeouts: this.room.counted(left, 'dispatch_response_timeout_total'),
      unmetReads: field('client_non_quorum_r_responses'),
      unmetWrites: field('client_non_quorum_w_responses'),
    };
    return new Map(Object.entries(counts));
  }
}

describe('with no owner left but this node', () => {
  const remaining = new Remaining();
  let key = '';
  beforeAll(async () => {
    await remaining.start();
    key = remaining.key(false);
  });

  it('requests over HTTP count once each, as ones without targets', async () => {
    const requests = [
      ['GET', `/buckets/things/keys/${key}`],
      ['PUT', `/buckets/things/keys/${key}`],
      ['DELETE', `/buckets/things/keys/${key}`],
      ['GET', '/buckets/things/keys?keys=true'],
      ['GET', '/buckets?buckets=true'],
    ] as const;
    for (const [method, path] of requests)
      expect([method, path, await remaining.http(method, path, method === 'PUT' ? 'v' : undefined)]).toEqual([
        method,
        path,
        once,
      ]);
  });

  it('a streamed listing over HTTP is cut off, which counts once, too', async () => {
    const listing = remaining.room.call(left, 'GET', '/buckets/things/keys?keys=stream');
    expect(await remaining.counted(() => expect(listing).rejects.toThrow('ended before the answer'))).toEqual(
      once,
    );
  });

  it('a job over HTTP counts once as one without targets', async () => {
    const query = [{ map: { language: 'javascript', name: 'Riak.mapValuesJson' } }];
    expect(await remaining.http('POST', '/mapred', { inputs: [['things', key]], query })).toEqual(once);
    expect(await remaining.http('POST', '/mapred', { inputs: 'things', query })).toEqual(once);
  });

  it('a transaction over HTTP counts once as one without targets', async () => {
    const operations = [{ op: 'put', bucket: 'things', key, value: 'v' }];
    expect(await remaining.http('POST', '/transactions', { operations })).toEqual(once);
  });

  it('requests of the binary protocol count alike', async () => {
    const place = { bucket: things, key: Buffer.from(key) };
    const query = [{ map: { language: 'javascript', name: 'Riak.mapValuesJson' } }];
    const job = { inputs: [['things', key]], query };
    const operation = { ...place, content: { value: things } };
    const requests: readonly ClientRequest[] = [
      { kind: 'get', message: place },
      { kind: 'put', message: { ...place, content: { value: things } } },
      { kind: 'delete', message: place },
      { kind: 'listKeys', message: { bucket: things } },
      { kind: 'listBuckets', message: {} },
      {
        kind: 'mapReduce',
        message: {
          request: Buffer.from(JSON.stringify(job)),
          content_type: Buffer.from('application/json'),
        },
      },
      { kind: 'transaction', message: { operations: [operation] } },
    ];
    for (const one of requests) expect([one.kind, await remaining.pb(one)]).toEqual([one.kind, once]);
  });

  it('commands of Redis count alike', async () => {
    const commands: readonly RedisCommand[] = [
      ['GET', key],
      ['SET', key, 'b'],
      ['INCR', key],
      ['DEL', key],
      ['KEYS', '*'],
    ];
    for (const command of commands)
      expect([command, await remaining.redis(command)]).toEqual([command, once]);
  });

  it('a request refused at once for its level counts as refused, and by its level', async () => {
    const path = `/buckets/things/keys/${remaining.key(true)}`;
    expect(await remaining.http('PUT', path, 'v')).toEqual({ errors: 1, dropped: 1, unmetWrites: 1 });
    expect(await remaining.http('GET', path)).toEqual({ errors: 1, dropped: 1, unmetReads: 1 });
  });

  it('answers of other kinds count once, and have no such cause', async () => {
    expect(await remaining.http('GET', '/no/such/path')).toEqual({ errors: 1 });
    expect(await remaining.http('DELETE', '/ping')).toEqual({ errors: 1 });
    expect(await remaining.http('PUT', '/buckets/things/props', 'no properties')).toEqual({ errors: 1 });
    expect(await remaining.http('GET', '/buckets/things/keys?keys=perhaps')).toEqual({ errors: 1 });
    expect(await remaining.http('GET', '/wasm/modules/none')).toEqual({ errors: 1 });
    expect(await remaining.http('GET', '/transactions/none')).toEqual({ errors: 1 });
    expect(await remaining.http('POST', '/mapred', 'no job')).toEqual({ errors: 1 });
  });
});
